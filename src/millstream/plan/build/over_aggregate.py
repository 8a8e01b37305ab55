"""Aggregates over the last rows of a partition, in the order of event time."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.aggregate_calls import GROWING, Calls, written_call
from millstream.plan.build.emit import emit_of
from millstream.plan.build.joins.conjuncts import conjuncts_of, filters_of
from millstream.plan.build.operator_input import Base
from millstream.plan.build.policies import late_policy, limit_of, refuse_unused, ttl_of
from millstream.plan.build.query_options import Asked
from millstream.plan.build.window_frames import Frame, frame_of, over_nodes
from millstream.plan.expressions import all_of, to_spark_sql
from millstream.plan.kinds.operator_properties import ROWS
from millstream.plan.nodes import Column, RowsOver, Select
from millstream.plan.reject import place_of
from millstream.plan.resolve.aliases import with_aliases
from millstream.plan.resolve.event_time import needs_time, refuse_changes
from millstream.plan.resolve.expressions import Expressions, Replace
from millstream.plan.resolve.scope import Reference
from millstream.plan.resolve.select_list import carrying, distinct, outputs_of
from millstream.sql.limits import MAX_ROWS
from millstream.sql.spans import span_of
from millstream.temporal import LateAction

_NOT_OVER = ("count_distinct", "approx_count_distinct", "approx_percentile")


def plan_rows_over(tree: exp.Select, base: Base, asked: Asked) -> Select:
    properties, place = asked.properties, asked.place
    refuse_unused(properties, ROWS, *asked.kinds)
    refuse_changes(base.node, base.name, "OVER (… ROWS …)", base.place or place)
    emit_of(asked.emit, windowed=False, text=base.text)
    time = needs_time(base.name, base.node, base.time, base.place or place)
    nodes = over_nodes(tree)
    frames = [frame_of(node, tree, base.below) for node in nodes]
    preceding = {_preceding(frame, node, base) for frame, node in zip(frames, nodes, strict=True)}
    if len(preceding) > 1 or len({frame.partition for frame in frames}) > 1:
        _refuse("the query has window functions over different windows.", nodes[-1], base)
    taken = frozenset(column.name.lower() for column in base.node.columns)
    calls = Calls(base.below, taken=taken)
    replaced = _replacing(calls)
    items = list(outputs_of(tree, Expressions(base.above, replaced)))
    after = Expressions(with_aliases(base.above, items), replaced)
    qualify = tree.args.get("qualify")
    terms = list(conjuncts_of(qualify.this)) if qualify else []
    where = filters_of(terms, after)
    for call, call_place in zip(calls.found, calls.places, strict=True):
        if call.function in _NOT_OVER:
            raise PlanError(
                "MS-PLAN-AGGREGATE",
                f"{call.function} cannot go along with the last rows of a partition.",
                fix="Use it with GROUP BY and a WINDOW.",
                place=call_place,
            )
    late = late_policy(properties, asked.sinks)
    ttl = None
    grows = any(call.function in GROWING for call in calls.found) and None in preceding
    if frames[0].partition or grows or "state.ttl" in properties:
        cause = f"the last rows of every partition of {base.name} would be kept for ever."
        ttl = ttl_of(properties, cause, time, base.name, place, base.node)
    reads = {name for item in items for _, name in item.reads}
    reads |= {name for term in terms for _, name in after.reads(term)}
    used = base.columns(reads, late.action is LateAction.SIDE_OUTPUT)
    return Select(
        input=RowsOver(
            input=base.input(time, used),
            partition=frames[0].partition,
            preceding=preceding.pop(),
            calls=tuple(calls.found),
            ttl=ttl,
            late=late,
            limit=limit_of(properties),
            place=place,
        ),
        outputs=distinct(items, base.above, place),
        where=all_of(where),
        time=carrying(items, ((0, time),)),
        place=place,
    )


def _replacing(calls: Calls) -> Replace:
    def replaced(node: exp.Expr) -> Reference | None:
        span = span_of(node)
        written = written_call(node.this) if isinstance(node, exp.Window) else None
        if span is None or written is None:
            return None
        result = calls.result(node.this, written)
        name = to_spark_sql(result)
        return Reference(result, *span, (), Column(name, result.type), False)

    return replaced


def _preceding(frame: Frame, node: exp.Window, base: Base) -> int | None:
    """How many rows before a row its frame has; None for all."""
    spec = frame.spec
    time = base.below.scope.relations[0].refer(base.time or "")
    if [(term.expression, term.descending) for term in frame.order] != [(time, False)]:
        _refuse("the order of the window is not the event time, ascending.", node, base)
    if spec is None or str(spec.args.get("kind")).upper() != "ROWS":
        _refuse("the window has no frame of ROWS.", node, base)
    start, end = spec.args.get("start"), spec.args.get("end")
    before = str(spec.args.get("start_side") or "").upper() == "PRECEDING"
    to_current = end is None or end == "CURRENT ROW"
    if not to_current or spec.args.get("exclude"):
        _refuse("the frame does not end at the current row.", node, base)
    if start == "CURRENT ROW":
        return 0
    if before and start == "UNBOUNDED":
        return None
    if not before or not isinstance(start, exp.Literal) or not start.is_int:
        _refuse("the frame does not begin a fixed number of rows before its own.", node, base)
    rows = int(start.name)
    if rows > MAX_ROWS:
        _refuse(f"the frame has {rows:,} rows, and may have {MAX_ROWS:,}.", node, base)
    return rows


def _refuse(cause: str, node: exp.Window, base: Base) -> NoReturn:
    raise PlanError(
        "MS-PLAN-OVER",
        cause,
        fix=f"Write OVER (PARTITION BY … ORDER BY {base.time} ROWS BETWEEN 10 PRECEDING AND "
        "CURRENT ROW), the same for all; other windows go in a query in FROM.",
        place=place_of(node, base.text),
    )
