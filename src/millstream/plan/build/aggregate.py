"""GROUP BY and aggregates: an Aggregate, and over it the Select that the query's list becomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.aggregate_calls import GROWING, RETRACTABLE, Calls
from millstream.plan.build.emit import emit_of
from millstream.plan.build.group_by import keys_of
from millstream.plan.build.group_scope import Groups, GroupScope
from millstream.plan.build.joins.conjuncts import conjuncts_of, filters_of
from millstream.plan.build.operator_input import Base, of_sessions
from millstream.plan.build.policies import late_policy, lateness_of, limit_of, refuse_unused, ttl_of
from millstream.plan.build.query_options import Asked
from millstream.plan.expressions import Expression, all_of, to_spark_sql
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
    needs_time,
    refuse_forgetting,
    refuse_late_changes,
    staying,
)
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Reference
from millstream.plan.resolve.select_list import (
    Item,
    carrying,
    carrying_window,
    distinct,
    is_star,
    outputs_of,
)
from millstream.temporal import LateAction, Window, WindowKind


def plan_aggregate(tree: exp.Select, base: Base, window: Window | None, asked: Asked) -> Select:
    keys = list(keys_of(tree, base.below))
    given = _given(keys, base) if window is None else None
    if given:
        window = Window(WindowKind.GIVEN)
    groups = Groups(base.below, window is not None, Calls(base.below))
    _add_keys(groups, keys, given)
    scope = GroupScope((), base.text, below=base.below.scope, has_keys=bool(groups.keys))
    items = list(_items(tree, Expressions(scope, groups.replace)))
    where = _having(tree, groups, scope, items)
    aggregate = _aggregate(base, groups, window, given, asked)
    event_time = window is not None and not window.wall_clock
    return Select(
        input=aggregate,
        outputs=distinct(items, scope, asked.place),
        where=all_of(where),
        time=carrying(items, ((0, WINDOW_TIME),)) if event_time else None,
        window=carrying_window(items),
        place=asked.place,
    )


def _items(tree: exp.Select, expressions: Expressions) -> Iterator[Item]:
    for item in tree.expressions:
        if is_star(item):
            raise PlanError(
                "MS-PLAN-GROUP",
                "* stands for columns that are neither grouped nor aggregated.",
                fix="List the keys of GROUP BY and the aggregates.",
                place=place_of(item, expressions.scope.text),
            )
    return outputs_of(tree, expressions)


def _having(
    tree: exp.Select, groups: Groups, scope: GroupScope, items: list[Item]
) -> tuple[Expression, ...]:
    having = tree.args.get("having")
    if having is None:
        return ()
    aliases = {item.output.name.lower(): item.output.expression for item in items}
    named = GroupScope((), scope.text, {}, scope.below, aliases, scope.has_keys)
    return filters_of(list(conjuncts_of(having.this)), Expressions(named, groups.replace))


def _aggregate(
    base: Base,
    groups: Groups,
    window: Window | None,
    given: tuple[Expression, Expression] | None,
    asked: Asked,
) -> Aggregate:
    properties, place = asked.properties, asked.place
    kind = GROUP if window is None else CLOCK_WINDOW if window.wall_clock else WINDOW
    refuse_unused(properties, kind, *asked.kinds)
    emit = emit_of(asked.emit, windowed=window is not None, text=base.text)
    late = late_policy(properties if kind is WINDOW else {}, asked.sinks)
    time = base.time
    if window is not None:
        time = (
            None
            if window.wall_clock
            else needs_time(base.name, base.node, base.time, base.place or place)
        )
    ttl = None
    grows = _growing(groups.calls) if not base.over_changes else ""
    if window is None and (groups.keys or grows or "state.ttl" in properties):
        cause = f"every group of {base.name} would be kept for ever."
        if not groups.keys:
            cause = f"without a window, {grows} would grow for ever."
        ttl = ttl_of(properties, cause, time, base.name, place, base.node)
    over_changes = base.over_changes
    if over_changes:
        if window is not None and window.kind is WindowKind.SESSION:
            raise _session_over_changes(base, place)
        refuse_late_changes(late, properties, base.name, staying(base.node, base.name))
        _refuse_over_changes(groups.calls, base)
        refuse_forgetting(base.node, base.name, base.place or place)
    keeps = late.action is LateAction.SIDE_OUTPUT
    return Aggregate(
        input=base.input(time, base.columns(set(), keeps)),
        keys=tuple(groups.keys),
        calls=tuple(groups.calls.found),
        window=window,
        given=given,
        emit=emit,
        lateness=lateness_of(properties) if kind is WINDOW else 0,
        late=late,
        ttl=ttl,
        limit=limit_of(properties),
        over_changes=over_changes,
        place=place,
    )


def _growing(calls: Calls) -> str:
    """A call whose state grows with every row. Rows that are taken back are not asked about: what
    is held of them is what the query below holds, which has said how long."""
    return next((call.function for call in calls.found if call.function in GROWING), "")


def _session_over_changes(base: Base, place: Place | None) -> PlanError:
    return PlanError(
        "MS-PLAN-RETRACT",
        f"{base.name} takes rows back, and a session that has grown cannot shrink.",
        fix=f"{staying(base.node, base.name)}, or use a TUMBLING or SLIDING window here.",
        place=base.place or place,
    )


def _refuse_over_changes(calls: Calls, base: Base) -> None:
    for call, place in zip(calls.found, calls.places, strict=True):
        if call.function not in RETRACTABLE:
            raise PlanError(
                "MS-PLAN-RETRACT",
                f"{base.name} takes rows back, and {call.function} cannot forget a row.",
                fix=f"{staying(base.node, base.name)}, or use one of {', '.join(RETRACTABLE)}.",
                place=place,
            )


def _add_keys(
    groups: Groups, keys: list[exp.Expr], given: tuple[Expression, Expression] | None
) -> None:
    for moment, name in zip(given or (), (WINDOW_START, WINDOW_END), strict=False):
        groups.columns[to_spark_sql(moment)] = Column(name, "TIMESTAMP")
    for node in keys:
        if groups.replace(node) is None:  # else it is the window, or was there before
            groups.add_key(node)


def _given(keys: list[exp.Expr], base: Base) -> tuple[Expression, Expression] | None:
    """The window that rows come with, if the query groups by it."""
    if base.window is None:
        return None
    asked = {bare.reads[0][1] for key in keys if (bare := _bare(key, base))} & set(base.window)
    if not asked:
        return None
    if len(asked) == 1 and of_sessions(base):
        raise PlanError(
            "MS-PLAN-WINDOW",
            "a session is known by its start and its end, and GROUP BY has one of them.",
            fix="Group by both.",
            place=base.place,
        )
    (relation,) = base.below.scope.relations
    return relation.refer(base.window[0]), relation.refer(base.window[1])


def _bare(key: exp.Expr, base: Base) -> Reference | None:
    with suppress(PlanError):
        return base.below.bare(key)
    return None
