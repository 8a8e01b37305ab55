"""Plans aggregates over the preceding rows of a partition, in event-time order."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from millstream.aggregate_functions import FUNCTIONS
from millstream.errors import PlanError
from millstream.plan.build.aggregate_calls import AggregateCalls, parse_call
from millstream.plan.build.emit import resolve_emit
from millstream.plan.build.joins.conjuncts import read_filters, split_conjunction
from millstream.plan.build.operator_input import OperatorInput
from millstream.plan.build.query_options import (
    QueryOptions,
    reject_unused_properties,
    resolve_late_policy,
    resolve_state_limit,
    resolve_state_ttl,
)
from millstream.plan.build.window_spec import WindowSpec, find_window_functions, read_window_spec
from millstream.plan.expressions import join_with_and, to_spark_sql
from millstream.plan.kinds.operator_properties import ROWS
from millstream.plan.nodes import Column, RowsOver, Select
from millstream.plan.reject import place_of
from millstream.plan.resolve.event_time import reject_retractions, require_event_time
from millstream.plan.resolve.expressions import ExpressionReader, Replace
from millstream.plan.resolve.scope import ResolvedName
from millstream.plan.resolve.select_list import (
    find_time_output,
    read_outputs,
    require_distinct_names,
    with_aliases,
)
from millstream.sql.limits import MAX_ROWS
from millstream.sql.spans import span_of
from millstream.temporal import LateAction


def plan_rows_over(tree: exp.Select, stream: OperatorInput, options: QueryOptions) -> Select:
    properties, place = options.properties, options.place
    reject_unused_properties(properties, ROWS, *options.kinds)
    reject_retractions(stream.node, stream.name, "OVER (… ROWS …)", stream.place or place)
    resolve_emit(options.emit, windowed=False, text=stream.text)
    time = require_event_time(stream.name, stream.node, stream.time, stream.place or place)
    nodes = find_window_functions(tree)
    frames = [read_window_spec(node, tree, stream.input_expressions) for node in nodes]
    preceding = {
        _preceding_rows(frame, node, stream) for frame, node in zip(frames, nodes, strict=True)
    }
    if len(preceding) > 1 or len({frame.partition for frame in frames}) > 1:
        _reject("the window functions of the query have different windows.", nodes[-1], stream)
    reserved = frozenset(column.name.lower() for column in stream.node.columns)
    calls = AggregateCalls(stream.input_expressions, reserved=reserved)
    replaced = _call_replacement(calls)
    items = list(read_outputs(tree, ExpressionReader(stream.output_scope, replaced)))
    after = ExpressionReader(with_aliases(stream.output_scope, items), replaced)
    qualify = tree.args.get("qualify")
    terms = list(split_conjunction(qualify.this)) if qualify else []
    where = read_filters(terms, after)
    for call, call_place in zip(calls.unique, calls.places, strict=True):
        if not FUNCTIONS[call.function].supports_over:
            raise PlanError(
                "MS-PLAN-AGGREGATE",
                f"{call.function} is not supported with OVER.",
                fix="Use GROUP BY with a WINDOW.",
                place=call_place,
            )
    late = resolve_late_policy(properties, options.sinks)
    ttl = None
    grows = any(FUNCTIONS[call.function].grows for call in calls.unique) and None in preceding
    if frames[0].partition or grows or "state.ttl" in properties:
        cause = f"the state would keep rows of every partition of {stream.name} forever."
        ttl = resolve_state_ttl(properties, cause, time, stream.name, place, stream.node)
    reads = {name for item in items for _, name in item.reads}
    reads |= {name for term in terms for _, name in after.columns_read(term)}
    used = stream.columns(reads, late.action is LateAction.SIDE_OUTPUT)
    return Select(
        input=RowsOver(
            input=stream.input(time, used),
            partition=frames[0].partition,
            preceding=preceding.pop(),
            calls=tuple(calls.unique),
            ttl=ttl,
            late=late,
            limit=resolve_state_limit(properties),
            place=place,
        ),
        outputs=require_distinct_names(items, stream.output_scope, place),
        where=join_with_and(where),
        time=find_time_output(items, ((0, time),)),
        place=place,
    )


def _call_replacement(calls: AggregateCalls) -> Replace:
    def replaced(node: exp.Expr) -> ResolvedName | None:
        span = span_of(node)
        parsed = parse_call(node.this) if isinstance(node, exp.Window) else None
        if span is None or parsed is None:
            return None
        result = calls.add(node.this, parsed)
        name = to_spark_sql(result)
        return ResolvedName(result, *span, (), Column(name, result.type), False)

    return replaced


def _preceding_rows(frame: WindowSpec, node: exp.Window, stream: OperatorInput) -> int | None:
    """Returns the number of preceding rows in a frame; None for all."""
    spec = frame.spec
    time = stream.input_expressions.scope.relations[0].refer(stream.time or "")
    if [(term.expression, term.descending) for term in frame.order] != [(time, False)]:
        _reject("the window is not ordered by event time, ascending.", node, stream)
    if spec is None or str(spec.args.get("kind")).upper() != "ROWS":
        _reject("the window has no ROWS frame.", node, stream)
    start, end = spec.args.get("start"), spec.args.get("end")
    before = str(spec.args.get("start_side") or "").upper() == "PRECEDING"
    to_current = end is None or end == "CURRENT ROW"
    if not to_current or spec.args.get("exclude"):
        _reject("the frame does not end at the current row.", node, stream)
    if start == "CURRENT ROW":
        return 0
    if before and start == "UNBOUNDED":
        return None
    if not before or not isinstance(start, exp.Literal) or not start.is_int:
        _reject(
            "the frame does not start a constant number of rows before the current row.",
            node,
            stream,
        )
    rows = int(start.name)
    if rows > MAX_ROWS:
        _reject(f"the frame has {rows:,} rows, and the maximum is {MAX_ROWS:,}.", node, stream)
    return rows


def _reject(cause: str, node: exp.Window, stream: OperatorInput) -> NoReturn:
    raise PlanError(
        "MS-PLAN-OVER",
        cause,
        fix=f"Write OVER (PARTITION BY … ORDER BY {stream.time} ROWS BETWEEN 10 PRECEDING AND "
        "CURRENT ROW), with the same window for all; compute other windows in a subquery.",
        place=place_of(node, stream.text),
    )
