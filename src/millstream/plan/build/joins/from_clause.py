"""Plans the joins of a FROM clause in their order in the text, each above the previous one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError, PropertyError
from millstream.plan.build.joins.bound_sources import reject_within_on_first_table
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.cross import (
    is_cross_join,
    plan_cross_join,
    reject_unbounded_cross_join,
)
from millstream.plan.build.joins.interval import plan_interval_join
from millstream.plan.build.joins.join_windows import JoinWindows
from millstream.plan.build.joins.left_input import LeftInput, left_from_join, left_from_stream
from millstream.plan.build.joins.match_condition import is_asof
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.regular import can_be_regular, must_be_regular, plan_regular_join
from millstream.plan.build.joins.session import plan_session_join
from millstream.plan.build.joins.table import plan_table_join
from millstream.plan.build.joins.temporal import plan_temporal_join
from millstream.plan.build.joins.where import JoinStep, assign_filters
from millstream.plan.build.joins.window import plan_window_join
from millstream.plan.build.tables.versioned import VersionedTable
from millstream.plan.kinds import join_kind_of
from millstream.plan.nodes import JoinKind, ReferenceTable, TableJoin
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.scope import Relation, Scope
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.suggestions import same
from millstream.temporal import Emit, Window, WindowKind
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class JoinClause:
    """One JOIN: its clause, its right side, its windows, and the table on its right side if any."""

    clause: exp.Join
    right: Relation
    windows: JoinWindows
    table: VersionedTable | ReferenceTable | None = None

    @property
    def kind(self) -> JoinKind:
        return self.windows.kind


def plan_joins(
    query: exp.Select,
    first: Relation,
    join_clauses: list[JoinClause],
    properties: Mapping[str, Property],
    text: SourceText,
    sinks: Collection[str],
    emit: Emit = Emit.FINAL,
    window_rewrite: str | None = None,
) -> PlannedJoin:
    """Plans the joins of a query.

    Args:
        query: The query.
        first: The first stream of FROM.
        join_clauses: The joins.
        properties: The properties of the query.
        text: The text of the job.
        sinks: Names allowed in 'late.sink'.
        emit: Emit mode of window joins.
        window_rewrite: The query with window joins, if its WINDOW applies to an aggregate.
    """
    reject_within_on_first_table(query, Scope((first,), text))
    _reject_duplicate_aliases(first, join_clauses)
    if sum(each.kind is not JoinKind.LOOKUP for each in join_clauses) > 1:
        _reject_ambiguous_join_properties(properties)
    steps = []
    for each in join_clauses:
        place = place_of(each.clause, text, first.place)
        reject_unbounded_cross_join(each.clause, each.kind, place)
        how = _join_type(each.clause, place)
        inner = how is JoinType.INNER and each.kind is not JoinKind.TEMPORAL
        steps.append(JoinStep(each.clause, each.right, how, inner))
    filters = assign_filters(query, first, steps, text)
    aliases = {first.alias.lower(), *(each.right.alias.lower() for each in join_clauses)}
    left = left_from_stream(first, text)
    for step, each, terms in zip(steps, join_clauses, filters, strict=True):
        place = place_of(each.clause, text, first.place)
        options = JoinOptions(
            step, terms, properties, sinks, place, emit, len(join_clauses) == 1, window_rewrite
        )
        planned = _plan_join(left, each, options)
        left = left_from_join(planned, aliases, text, _result_window(left, planned))
    return planned


def _plan_join(left: LeftInput, join_clause: JoinClause, options: JoinOptions) -> PlannedJoin:
    table = join_clause.table
    if isinstance(table, ReferenceTable):
        return plan_table_join(left, table, options)
    if join_clause.kind is JoinKind.TEMPORAL:
        return plan_temporal_join(left, table, options)
    if join_clause.kind is JoinKind.WINDOW and is_cross_join(join_clause.clause):
        return plan_cross_join(left, join_clause.windows, options)
    if join_clause.kind is JoinKind.WINDOW:
        plan = (
            plan_session_join
            if _has_session_window(left, join_clause.windows)
            else plan_window_join
        )
        return plan(left, join_clause.windows, options)
    if must_be_regular(left, options):
        return plan_regular_join(left, options)
    planned = plan_interval_join(left, options, allow_unbounded=can_be_regular(options))
    return planned or plan_regular_join(left, options)


def _has_session_window(left: LeftInput, windows: JoinWindows) -> bool:
    given = (left.window, windows.left, windows.right)
    return any(window and window.kind is WindowKind.SESSION for window in given)


def _result_window(left: LeftInput, planned: PlannedJoin) -> Window | None:
    """Returns the window of a join's result rows, if both sides have the same window."""
    join = planned.join
    if isinstance(join, TableJoin):
        return left.window
    windows = join_kind_of(join).windows(join)
    if windows is None:
        return None if join.how.preserves_right else left.window
    return windows.left if windows.are_equal else None


def _reject_duplicate_aliases(first: Relation, join_clauses: list[JoinClause]) -> None:
    seen = [first.alias]
    for each in join_clauses:
        alias = each.right.alias
        if any(same(alias, other) for other in seen):
            what = (
                "both sides of the join are"
                if len(join_clauses) == 1
                else "two streams of FROM are"
            )
            raise PlanError(
                "MS-PLAN-DUPLICATE-NAME",
                f"{what} named {first.alias if len(join_clauses) == 1 else alias}.",
                fix="Use aliases.",
                place=each.right.place,
            )
        seen.append(alias)


def _reject_ambiguous_join_properties(properties: Mapping[str, Property]) -> None:
    for name, item in properties.items():
        if name.startswith("join."):
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' applies to one join, and the query has several.",
                fix="Write the bounds of each join in ON or WITHIN."
                if name.endswith("_bound")
                else "Remove it, or write each join in a separate query.",
                place=item.place,
            )


def _join_type(clause: exp.Join, place: Place | None) -> JoinType:
    method, side, kind = (clause.args.get(key) or "" for key in ("method", "side", "kind"))
    if method == "NATURAL":
        raise PlanError(
            "MS-PLAN-NATURAL-JOIN",
            "a NATURAL join changes its meaning when a column is added to a source.",
            fix="Write USING (column, …) or ON.",
            place=place,
        )
    method = "" if is_asof(clause) else method
    if method or (side == "RIGHT" and kind in ("SEMI", "ANTI")):
        raise not_supported(f"{method or side} {kind} JOIN".replace("  ", " "), place)
    if kind in ("SEMI", "ANTI"):
        return JoinType(kind.lower())
    if kind not in ("", "INNER", "OUTER", "CROSS"):
        raise not_supported(f"{kind} JOIN", place)
    return JoinType(side.lower()) if side else JoinType.INNER
