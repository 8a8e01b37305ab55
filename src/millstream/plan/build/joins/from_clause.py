"""The joins of a FROM clause, in the order they are written: each an operator over the one before,
or refused with the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError, PropertyError
from millstream.plan.build.joins.bound_sources import refuse_within_first
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.cross import is_cross, plan_cross, refuse_unbounded
from millstream.plan.build.joins.interval import plan_interval
from millstream.plan.build.joins.join_windows import Windows
from millstream.plan.build.joins.left_input import Left, first_of, result_of
from millstream.plan.build.joins.options import JoinAsked
from millstream.plan.build.joins.regular import is_regular, may_be_regular, plan_regular
from millstream.plan.build.joins.session import plan_sessions
from millstream.plan.build.joins.table import plan_table
from millstream.plan.build.joins.temporal import plan_temporal
from millstream.plan.build.joins.where import Step, filters_by_step
from millstream.plan.build.joins.window import plan_window
from millstream.plan.build.tables.versioned import Table
from millstream.plan.join_kinds import JoinKind
from millstream.plan.kinds import join_kind_of
from millstream.plan.nodes import Reference, TableJoin
from millstream.plan.reject import not_yet, place_of
from millstream.plan.resolve.scope import Relation, Scope
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.suggestions import same
from millstream.temporal import Emit, Window, WindowKind
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class Joined:
    """One JOIN: what it is, the stream that it joins, and the table that this is, if it is one."""

    clause: exp.Join
    right: Relation
    windows: Windows
    table: Table | Reference | None = None

    @property
    def kind(self) -> JoinKind:
        return self.windows.kind


def plan_joins(
    query: exp.Select,
    first: Relation,
    joined: list[Joined],
    properties: Mapping[str, Property],
    text: SourceText,
    sinks: Collection[str],
    emit: Emit = Emit.FINAL,
    below: str | None = None,
) -> PlannedJoin:
    """Plan the joins of a query. `sinks` are the names that 'late.sink' may say; `emit` is for a
    join that can wait until its windows close; `below` is the query with its joins in windows, if
    its own WINDOW is not for them."""
    refuse_within_first(query, Scope((first,), text))
    _refuse_same_names(first, joined)
    if sum(each.kind is not JoinKind.LOOKUP for each in joined) > 1:
        _refuse_join_properties(properties)
    steps = []
    for each in joined:
        place = place_of(each.clause, text, first.place)
        refuse_unbounded(each.clause, each.kind, place)
        how = _join_type(each.clause, place)
        inner = how is JoinType.INNER and each.kind is not JoinKind.TEMPORAL
        steps.append(Step(each.clause, each.right, how, inner))
    filters = filters_by_step(query, first, steps, text)
    aliases = {first.alias.lower(), *(each.right.alias.lower() for each in joined)}
    left = first_of(first, text)
    for step, each, terms in zip(steps, joined, filters, strict=True):
        place = place_of(each.clause, text, first.place)
        asked = JoinAsked(step, terms, properties, sinks, place, emit, len(joined) == 1, below)
        planned = _plan_one(left, each, asked)
        left = result_of(planned, aliases, text, _window_of(left, planned))
    return planned


def _plan_one(left: Left, joined: Joined, asked: JoinAsked) -> PlannedJoin:
    table = joined.table
    if isinstance(table, Reference):
        return plan_table(left, table, asked)
    if joined.kind is JoinKind.TEMPORAL:
        return plan_temporal(left, table, asked)
    if joined.kind is JoinKind.WINDOW and is_cross(joined.clause):
        return plan_cross(left, joined.windows, asked)
    if joined.kind is JoinKind.WINDOW:
        plan = plan_sessions if _of_sessions(left, joined.windows) else plan_window
        return plan(left, joined.windows, asked)
    if is_regular(left, asked):
        return plan_regular(left, asked)
    planned = plan_interval(left, asked, or_none=may_be_regular(asked))
    return planned or plan_regular(left, asked)


def _of_sessions(left: Left, windows: Windows) -> bool:
    given = (left.window, windows.left, windows.right)
    return any(window and window.kind is WindowKind.SESSION for window in given)


def _window_of(left: Left, planned: PlannedJoin) -> Window | None:
    """The window that the rows of a join's result are in, if it is one for both sides."""
    join = planned.join
    if isinstance(join, TableJoin):
        return left.window
    windows = join_kind_of(join).windows(join)
    if windows is None:
        return None if join.how.keeps_right else left.window
    return windows.left if windows.same else None


def _refuse_same_names(first: Relation, joined: list[Joined]) -> None:
    seen = [first.alias]
    for each in joined:
        alias = each.right.alias
        if any(same(alias, other) for other in seen):
            what = "both sides of the join are" if len(joined) == 1 else "two streams of FROM are"
            raise PlanError(
                "MS-PLAN-DUPLICATE-NAME",
                f"{what} called {first.alias if len(joined) == 1 else alias}.",
                fix="Give each an alias.",
                place=each.right.place,
            )
        seen.append(alias)


def _refuse_join_properties(properties: Mapping[str, Property]) -> None:
    for name, item in properties.items():
        if name.startswith("join."):
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' does not say which join it is for, and the query has several.",
                fix="Write the bounds of each join in its ON, or as WITHIN."
                if name.endswith("_bound")
                else "Leave it out, or put each join in a query of its own.",
                place=item.place,
            )


def _join_type(clause: exp.Join, place: Place | None) -> JoinType:
    method, side, kind = (clause.args.get(key) or "" for key in ("method", "side", "kind"))
    if method == "NATURAL":
        raise PlanError(
            "MS-PLAN-NATURAL-JOIN",
            "a NATURAL join changes its meaning when a column is added.",
            fix="Write USING (column, …) or ON.",
            place=place,
        )
    if method or (side == "RIGHT" and kind in ("SEMI", "ANTI")):
        raise not_yet(f"{method or side} {kind} JOIN".replace("  ", " "), place)
    if kind in ("SEMI", "ANTI"):
        return JoinType(kind.lower())
    if kind not in ("", "INNER", "OUTER", "CROSS"):
        raise not_yet(f"{kind} JOIN", place)
    return JoinType(side.lower()) if side else JoinType.INNER
