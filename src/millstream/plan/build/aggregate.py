"""Plans GROUP BY and aggregates: an Aggregate node, with a Select of the select list above it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sqlglot import exp

from millstream.aggregate_functions import FUNCTIONS
from millstream.errors import Place, PlanError
from millstream.plan.build.aggregate_calls import AggregateCalls
from millstream.plan.build.emit import resolve_emit
from millstream.plan.build.group_by import resolve_group_keys
from millstream.plan.build.group_scope import GroupColumns, GroupScope
from millstream.plan.build.joins.conjuncts import read_filters, split_conjunction
from millstream.plan.build.operator_input import OperatorInput, has_session_windows
from millstream.plan.build.query_options import (
    QueryOptions,
    reject_unused_properties,
    resolve_late_policy,
    resolve_lateness,
    resolve_state_limit,
    resolve_state_ttl,
)
from millstream.plan.expressions import Expression, join_with_and, to_spark_sql
from millstream.plan.kinds.operator_properties import CLOCK_WINDOW, GROUP, WINDOW
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Aggregate,
    Column,
    Select,
)
from millstream.plan.reject import place_of
from millstream.plan.resolve.event_time import (
    reject_expiring_groups,
    reject_late_retractions,
    require_event_time,
    retraction_fix,
)
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import ResolvedName
from millstream.plan.resolve.select_list import (
    SelectItem,
    find_time_output,
    find_window_outputs,
    read_outputs,
    require_distinct_names,
)
from millstream.plan.resolve.star import is_star
from millstream.temporal import LateAction, Window, WindowKind


def plan_aggregate(
    tree: exp.Select, stream: OperatorInput, window: Window | None, options: QueryOptions
) -> Select:
    keys = list(resolve_group_keys(tree, stream.input_expressions))
    given = _given(keys, stream) if window is None else None
    if given:
        window = Window(WindowKind.INHERITED)
    groups = GroupColumns(
        stream.input_expressions, window is not None, AggregateCalls(stream.input_expressions)
    )
    _add_keys(groups, keys, given)
    scope = GroupScope(
        (), stream.text, below=stream.input_expressions.scope, has_keys=bool(groups.keys)
    )
    items = list(_items(tree, ExpressionReader(scope, groups.replace)))
    where = _having(tree, groups, scope, items)
    aggregate = _aggregate(stream, groups, window, given, options)
    event_time = window is not None and not window.wall_clock
    return Select(
        input=aggregate,
        outputs=require_distinct_names(items, scope, options.place),
        where=join_with_and(where),
        time=find_time_output(items, ((0, WINDOW_TIME),)) if event_time else None,
        window=find_window_outputs(items),
        place=options.place,
    )


def _items(tree: exp.Select, expressions: ExpressionReader) -> Iterator[SelectItem]:
    for item in tree.expressions:
        if is_star(item):
            raise PlanError(
                "MS-PLAN-GROUP",
                "* includes columns that are neither grouped nor aggregated.",
                fix="List the GROUP BY keys and the aggregates.",
                place=place_of(item, expressions.scope.text),
            )
    return read_outputs(tree, expressions)


def _having(
    tree: exp.Select, groups: GroupColumns, scope: GroupScope, items: list[SelectItem]
) -> tuple[Expression, ...]:
    having = tree.args.get("having")
    if having is None:
        return ()
    aliases = {item.output.name.lower(): item.output.expression for item in items}
    named = GroupScope((), scope.text, {}, scope.below, aliases, scope.has_keys)
    return read_filters(
        list(split_conjunction(having.this)), ExpressionReader(named, groups.replace)
    )


def _aggregate(
    stream: OperatorInput,
    groups: GroupColumns,
    window: Window | None,
    given: tuple[Expression, Expression] | None,
    options: QueryOptions,
) -> Aggregate:
    properties, place = options.properties, options.place
    kind = GROUP if window is None else CLOCK_WINDOW if window.wall_clock else WINDOW
    reject_unused_properties(properties, kind, *options.kinds)
    emit = resolve_emit(options.emit, windowed=window is not None, text=stream.text)
    late = resolve_late_policy(properties if kind is WINDOW else {}, options.sinks)
    time = stream.time
    if window is not None:
        time = (
            None
            if window.wall_clock
            else require_event_time(stream.name, stream.node, stream.time, stream.place or place)
        )
    ttl = None
    grows = _find_growing_call(groups.calls) if not stream.over_changes else ""
    if window is None and (groups.keys or grows or "state.ttl" in properties):
        cause = f"the state would keep every group of {stream.name} forever."
        if not groups.keys:
            cause = f"without a window, the state of {grows} would grow forever."
        bound = "WINDOW TUMBLING(INTERVAL '1' HOUR)" if time and not stream.over_changes else ""
        ttl = resolve_state_ttl(properties, cause, time, stream.name, place, stream.node, bound)
    over_changes = stream.over_changes
    if over_changes:
        if window is not None and window.kind is WindowKind.SESSION:
            raise _session_over_changes(stream, place)
        reject_late_retractions(
            late, properties, stream.name, retraction_fix(stream.node, stream.name)
        )
        _reject_changes(groups.calls, stream)
        reject_expiring_groups(stream.node, stream.name, stream.place or place)
    keeps = late.action is LateAction.SIDE_OUTPUT
    return Aggregate(
        input=stream.input(time, stream.columns(set(), keeps)),
        keys=tuple(groups.keys),
        calls=tuple(groups.calls.unique),
        window=window,
        given=given,
        emit=emit,
        lateness=resolve_lateness(properties) if kind is WINDOW else 0,
        late=late,
        ttl=ttl,
        limit=resolve_state_limit(properties),
        over_changes=over_changes,
        place=place,
    )


def _find_growing_call(calls: AggregateCalls) -> str:
    """Returns the first function whose state grows with its values, or an empty string."""
    return next((call.function for call in calls.unique if FUNCTIONS[call.function].grows), "")


def _session_over_changes(stream: OperatorInput, place: Place | None) -> PlanError:
    return PlanError(
        "MS-PLAN-RETRACT",
        f"{stream.name} retracts rows, and a session window cannot shrink.",
        fix=f"{retraction_fix(stream.node, stream.name)}, or use a TUMBLING or SLIDING window "
        "here.",
        place=stream.place or place,
    )


def _reject_changes(calls: AggregateCalls, stream: OperatorInput) -> None:
    for call, place in zip(calls.unique, calls.places, strict=True):
        if not FUNCTIONS[call.function].can_retract:
            raise PlanError(
                "MS-PLAN-RETRACT",
                f"{stream.name} retracts rows, and {call.function} does not support retraction.",
                fix=f"{retraction_fix(stream.node, stream.name)}, or use one of "
                f"{', '.join(each.name for each in FUNCTIONS.values() if each.can_retract)}.",
                place=place,
            )


def _add_keys(
    groups: GroupColumns, keys: list[exp.Expr], given: tuple[Expression, Expression] | None
) -> None:
    for moment, name in zip(given or (), (WINDOW_START, WINDOW_END), strict=False):
        groups.columns[to_spark_sql(moment)] = Column(name, "TIMESTAMP")
    for node in keys:
        if groups.replace(node) is None:  # else it is a column of the window or a duplicate
            groups.add_key(node)


def _given(keys: list[exp.Expr], stream: OperatorInput) -> tuple[Expression, Expression] | None:
    """Returns start and end of the input rows' window if the query groups by it."""
    if stream.window is None:
        return None
    grouped = {bare.reads[0][1] for key in keys if (bare := _bare(key, stream))} & set(
        stream.window
    )
    if not grouped:
        return None
    if len(grouped) == 1 and has_session_windows(stream):
        raise PlanError(
            "MS-PLAN-WINDOW",
            "start and end identify a session window, and GROUP BY has only one of them.",
            fix="Group by both.",
            place=stream.place,
        )
    (relation,) = stream.input_expressions.scope.relations
    return relation.refer(stream.window[0]), relation.refer(stream.window[1])


def _bare(key: exp.Expr, stream: OperatorInput) -> ResolvedName | None:
    with suppress(PlanError):
        return stream.input_expressions.column_reference(key)
    return None
