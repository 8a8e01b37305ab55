"""Operators as blocks of `explain`."""

from __future__ import annotations

from millstream.plan.explain.blocks import Block, labelled
from millstream.plan.facts.joins import JoinFacts, SideFacts, moved, name_of, stream_name
from millstream.plan.facts.operators import Facts, OperatorFacts
from millstream.plan.facts.temporal import TemporalFacts
from millstream.plan.nodes import (
    Aggregate,
    Call,
    Deduplicate,
    Input,
    IntervalJoin,
    Order,
    RowsOver,
    Source,
    TopN,
)
from millstream.plan.walk import bottom_of
from millstream.temporal import LateAction, LatePolicy, StateLimit, format_span


def operator_block(facts: Facts, children: tuple[Block, ...]) -> Block:
    if isinstance(facts, JoinFacts):
        return _join(facts, children)
    if isinstance(facts, TemporalFacts):
        return _temporal(facts, children)
    node = facts.operator
    match node:
        case Aggregate():
            title, told = _aggregate(node)
        case Deduplicate():
            title, told = _deduplicate(node)
        case TopN():
            title, told = _top_n(node)
        case RowsOver():
            title, told = _rows_over(node)
    return Block(title, (*told, *_common(facts)), children)


def _common(facts: OperatorFacts) -> list[tuple[str, str]]:
    node = facts.operator
    told = [("watermark", _clock(node.input))] if node.input.time else []
    told += labelled("held", facts.held)
    told.append(("state", facts.state))
    if not isinstance(node, Aggregate):
        told.append(("columns", f"held: {_used(node.input)}"))
    if _can_be_late(node):
        told.append(("late", late_text(node.late)))
    told.append(("limit", limit_text(node.limit)))
    return told + labelled("comes out", facts.comes_out)


def _clock(side: Input) -> str:
    """The watermark of an input: of its source's times, or of the operator it is made by."""
    if isinstance(bottom_of(side.node), Source):
        return moved(f"{side.alias}.{side.progress or side.time}", -side.delay)
    return f"that of {moved(side.alias, -side.delay)}"


def _can_be_late(node: Aggregate | Deduplicate | TopN | RowsOver) -> bool:
    if node.input.time is None:
        return False
    if isinstance(node, Aggregate):
        return node.window is not None
    if isinstance(node, RowsOver):
        return bool(node.calls)
    return not isinstance(node, TopN) or node.due is not None


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
    keys = ", ".join(f"{key.sql} AS {key.name}" for key in node.keys)
    told.append(("keys", keys or "none: one group"))
    if node.calls:
        told.append(("calls", ", ".join(call_text(call) for call in node.calls)))
    told.append(("emit", _emit(str(node.emit), node.over_changes)))
    return f"Aggregate of {_of(node.input)}", told


def _emit(emit: str, over_changes: bool) -> str:
    return f"{emit}; rows of the input may be taken back" if over_changes else emit


def call_text(call: Call) -> str:
    function, distinct = call.function, ""
    if function == "count_distinct":
        function, distinct = "count", "DISTINCT "
    arguments = [f"{distinct}{call.argument or '*'}"]
    arguments += [call.by] if call.by else []
    arguments += [f"{number:g}" for number in call.parameters]
    nulls = ""
    if function in ("first", "last") and call.ignore_nulls:
        nulls = " IGNORE NULLS"
    where = f" FILTER (WHERE {call.filter})" if call.filter else ""
    return f"{function}({', '.join(arguments)}){nulls}{where} AS {call.name}"


def _deduplicate(node: Deduplicate) -> tuple[str, list[tuple[str, str]]]:
    within = "for ever" if node.within is None else format_span(node.within)
    told = [("keys", ", ".join(node.keys)), ("within", within)]
    return f"Deduplicate {_of(node.input)}", told


def order_text(order: Order) -> str:
    direction = "DESC" if order.descending else "ASC"
    nulls = "" if order.nulls_first is not order.descending else _NULLS[order.nulls_first]
    return f"{order.sql} {direction}{nulls}"


_NULLS = {True: " NULLS FIRST", False: " NULLS LAST"}


def _top_n(node: TopN) -> tuple[str, list[tuple[str, str]]]:
    told = [
        ("partition", ", ".join(node.partition) or "none: all rows"),
        ("order", ", ".join(order_text(order) for order in node.order)),
        ("emit", _emit(str(node.emit), node.over_changes)),
    ]
    if node.rank:
        told.append(("number", node.rank))
    if node.due:
        told.append(("due", node.due))
    return f"First {node.n} of {_of(node.input)}", told


def _rows_over(node: RowsOver) -> tuple[str, list[tuple[str, str]]]:
    if not node.calls:
        return f"Rows of {_of(node.input)}, once their window is closed", [
            ("order", f"{node.input.alias}.{node.input.time}")
        ]
    before = "all rows before it" if node.preceding is None else f"{node.preceding} rows before it"
    told = [
        ("partition", ", ".join(node.partition) or "none: all rows"),
        ("order", f"{node.input.alias}.{node.input.time}"),
        ("frame", f"a row and {before}"),
        ("calls", ", ".join(call_text(call) for call in node.calls)),
    ]
    return f"Rows of {_of(node.input)}", told


def _join(facts: JoinFacts, children: tuple[Block, ...]) -> Block:
    join, left, right = facts.join, facts.left, facts.right
    difference = f"{right.alias}.{right.time} - {left.alias}.{left.time}"
    told = [
        ("key", " and ".join(f"{key.left} = {key.right}" for key in join.keys)),
        *_windows(join),
        ("bound", f"{difference} in {join.bounds}"),
        ("watermark", f"the lesser of {_clock(join.left)} and {_clock(join.right)}"),
        *facts.predicates,
        *labelled("held", facts.held),
        ("state", facts.state),
        ("columns", f"held of {left.name}: {_used(join.left)}"),
        ("", f"held of {right.name}: {_used(join.right)}"),
    ]
    if join.retention is not None:
        told.append(("retention", format_span(join.retention)))
    told += [("late", late_text(join.late)), ("limit", limit_text(join.limit))]
    told += labelled("comes out", facts.comes_out)
    kind = "Interval" if join.windows is None else "Window"
    title = f"{kind} join, {join.how}: {_side_of(left)}, {_side_of(right)}"
    return Block(title, tuple(told), children)


def _side_of(side: SideFacts) -> str:
    return side.name if side.name == side.alias else f"{side.name} {side.alias}"


def _windows(join: IntervalJoin) -> list[tuple[str, str]]:
    if join.windows is None:
        return []
    one, other = join.windows
    text = f"the same of both: {one}"
    if one != other:
        text = f"{one} and {other}: a pair once if any of its windows overlap"
    lateness = [("lateness", format_span(join.lateness))] if join.lateness else []
    return [("window", text), *lateness]


def _temporal(facts: TemporalFacts, children: tuple[Block, ...]) -> Block:
    join = facts.join
    told = [
        ("key", " and ".join(f"{key.left} = {key.right}" for key in join.keys)),
        ("version", facts.version),
        *([("deletes", join.deletes)] if join.deletes else []),
        ("watermark", f"the lesser of {_clock(join.left)} and {_clock(join.right)}"),
        *labelled("held", facts.held),
        ("state", facts.state),
        ("columns", f"held of {stream_name(join.left)}: {_used(join.left)}"),
        ("", f"held of {stream_name(join.right)}: {_used(join.right)}"),
        ("late", late_text(join.late)),
        ("limit", limit_text(join.limit)),
        *labelled("comes out", facts.comes_out),
    ]
    title = f"Temporal join, {join.how}: {_versioned(join.left)}, {_versioned(join.right)}"
    return Block(title, tuple(told), children)


def _versioned(side: Input) -> str:
    name = stream_name(side)
    return name if name == side.alias else f"{name} {side.alias}"


def _used(side: Input) -> str:
    return ", ".join(side.used) or "none but key and time"


def late_text(late: LatePolicy) -> str:
    match late.action:
        case LateAction.SIDE_OUTPUT:
            return f"side_output: late rows go to {late.sink or 'the port late'}"
        case LateAction.REASSIGN:
            budget = format_span(late.budget)
            return f"reassign: rows up to {budget} late get the watermark as their time, others go"
        case LateAction.DROP:
            return "drop: late rows are counted and dropped"


def limit_text(limit: StateLimit) -> str:
    parts = []
    if limit.max_rows is not None:
        parts.append(f"{limit.max_rows} rows")
    if limit.max_bytes is not None:
        parts.append(f"{limit.max_bytes} bytes")
    if not parts:
        return "none"
    then = {"fail": "then the job stops", "evict": "then the oldest rows go, counted"}
    return f"{' or '.join(parts)}, {then[limit.on_limit]}"
