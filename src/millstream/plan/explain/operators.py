"""Operators as blocks of `explain`."""

from __future__ import annotations

from millstream.plan.explain.blocks import Block, labelled
from millstream.plan.explain.words import (
    call_text,
    clock_text,
    late_text,
    limit_text,
    order_text,
    used_text,
)
from millstream.plan.expressions.spark_sql import texts
from millstream.plan.facts.joins import name_of
from millstream.plan.facts.operators import OperatorFacts
from millstream.plan.nodes import Aggregate, Deduplicate, Input, RowsOver, TopN
from millstream.temporal import format_span


def _block(
    facts: OperatorFacts,
    children: tuple[Block, ...],
    described: tuple[str, list[tuple[str, str]]],
    *,
    late: bool,
    columns: bool = True,
) -> Block:
    """`late`: rows can be late, if they have an event time. `columns`: state holds whole rows."""
    node, (title, told) = facts.operator, described
    told += [("watermark", clock_text(node.input))] if node.input.time else []
    told += labelled("held", facts.held)
    told.append(("state", facts.state))
    if columns:
        told.append(("columns", f"held: {used_text(node.input)}"))
    if late and node.input.time is not None:
        told.append(("late", late_text(node.late)))
    told.append(("limit", limit_text(node.limit)))
    return Block(title, (*told, *labelled("comes out", facts.comes_out)), children)


def aggregate_block(facts: OperatorFacts, children: tuple[Block, ...]) -> Block:
    node = facts.operator
    assert isinstance(node, Aggregate)
    late = node.window is not None
    return _block(facts, children, _aggregate(node), late=late, columns=False)


def deduplicate_block(facts: OperatorFacts, children: tuple[Block, ...]) -> Block:
    node = facts.operator
    assert isinstance(node, Deduplicate)
    return _block(facts, children, _deduplicate(node), late=True)


def top_n_block(facts: OperatorFacts, children: tuple[Block, ...]) -> Block:
    node = facts.operator
    assert isinstance(node, TopN)
    return _block(facts, children, _top_n(node), late=node.due is not None)


def rows_over_block(facts: OperatorFacts, children: tuple[Block, ...]) -> Block:
    node = facts.operator
    assert isinstance(node, RowsOver)
    return _block(facts, children, _rows_over(node), late=bool(node.calls))


def _of(side: Input) -> str:
    name = name_of(side.node, side.alias)
    return name if name == side.alias else f"{name} {side.alias}"


def _aggregate(node: Aggregate) -> tuple[str, list[tuple[str, str]]]:
    told = []
    if node.window:
        by = " by the clock" if node.window.wall_clock else ""
        given = f": {node.given[0]} to {node.given[1]}" if node.given else ""
        told.append(("window", f"{node.window}{given}{by}"))
        if node.lateness:
            told.append(("lateness", format_span(node.lateness)))
    keys = ", ".join(f"{key.expression} AS {key.name}" for key in node.keys)
    told.append(("keys", keys or "none: one group"))
    if node.calls:
        told.append(("calls", ", ".join(call_text(call) for call in node.calls)))
    told.append(("emit", _emit(str(node.emit), node.over_changes)))
    return f"Aggregate of {_of(node.input)}", told


def _emit(emit: str, over_changes: bool) -> str:
    return f"{emit}; rows of the input may be taken back" if over_changes else emit


def _deduplicate(node: Deduplicate) -> tuple[str, list[tuple[str, str]]]:
    within = "for ever" if node.within is None else format_span(node.within)
    told = [("keys", texts(node.keys)), ("within", within)]
    return f"Deduplicate {_of(node.input)}", told


def _top_n(node: TopN) -> tuple[str, list[tuple[str, str]]]:
    told = [
        ("partition", texts(node.partition) or "none: all rows"),
        ("order", ", ".join(order_text(order) for order in node.order)),
        ("emit", _emit(str(node.emit), node.over_changes)),
    ]
    if node.rank:
        told.append(("number", node.rank))
    if node.due:
        told.append(("due", str(node.due)))
    return f"First {node.n} of {_of(node.input)}", told


def _rows_over(node: RowsOver) -> tuple[str, list[tuple[str, str]]]:
    if not node.calls:
        return f"Rows of {_of(node.input)}, once their window is closed", [
            ("order", f"{node.input.alias}.{node.input.time}")
        ]
    before = "all rows before it" if node.preceding is None else f"{node.preceding} rows before it"
    told = [
        ("partition", texts(node.partition) or "none: all rows"),
        ("order", f"{node.input.alias}.{node.input.time}"),
        ("frame", f"a row and {before}"),
        ("calls", ", ".join(call_text(call) for call in node.calls)),
    ]
    return f"Rows of {_of(node.input)}", told
