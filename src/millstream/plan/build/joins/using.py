"""Resolves USING (…): its keys, and the columns that it merges."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.build.joins.time_bounds import Bound
from millstream.plan.expressions import template
from millstream.plan.kinds.time_bounds import ZERO_BOUNDS
from millstream.plan.nodes import Key
from millstream.plan.reject import place_of
from millstream.plan.resolve.scope import Relation, ResolvedName, Scope, SharedColumn
from millstream.suggestions import nearest, same
from millstream.values import JoinType

Pair = tuple[ResolvedName, ResolvedName]


def using_pairs(clause: exp.Join, scope: Scope) -> list[Pair]:
    """Returns the columns of both sides that USING names. The right side is the last relation."""
    return [
        (_left(identifier, scope), _right(identifier, scope))
        for identifier in clause.args.get("using") or []
    ]


def using_keys(pairs: list[Pair], times: EventTimes) -> list[Key]:
    """Returns the keys of USING; a pair of event times is a bound instead of a key."""
    return [
        Key(one.expression, other.expression)
        for one, other in pairs
        if not _are_times(one, other, times)
    ]


def using_bounds(pairs: list[Pair], times: EventTimes) -> Bound:
    """Returns the bound of USING with the event times of both sides: they are equal."""
    return {
        one.origin[0]: ZERO_BOUNDS
        for one, other in pairs
        if one.origin and _are_times(one, other, times)
    }


def _are_times(one: ResolvedName, other: ResolvedName, times: EventTimes) -> bool:
    return times.is_time(one.origin) and times.is_time(other.origin)


def merged_columns(pairs: list[Pair], how: JoinType) -> dict[str, SharedColumn]:
    merged = {}
    for one, other in pairs:
        if how is JoinType.FULL:
            sides = one.expression, other.expression
            either = template("coalesce({}, {})", *sides, kind=one.column.type)
            item = SharedColumn(either, (*one.reads, *other.reads), one.column)
        else:
            preserved = other if how is JoinType.RIGHT else one
            item = SharedColumn(
                preserved.expression, preserved.reads, preserved.column, preserved.origin
            )
        merged[one.column.name.lower()] = item
    return merged


def _left(identifier: exp.Expr, scope: Scope) -> ResolvedName:
    name = identifier.name
    if shared := scope.shared_column(name):
        return shared
    left = scope.relations[:-1]
    found = [
        (number, column)
        for number, relation in enumerate(left)
        for column in relation.columns
        if same(column.name, name)
    ]
    place = place_of(identifier, scope.text)
    if not found:
        raise _missing(name, left, place)
    if len(found) > 1:
        owners = [left[number].display_name for number, _ in found]
        raise PlanError(
            "MS-PLAN-AMBIGUOUS",
            f"{name} in USING is ambiguous: it is a column of {' and of '.join(owners)}.",
            fix=f"Join those with USING ({name}) as well, or write ON.",
            place=place,
        )
    return scope.refer(*found[0])


def _right(identifier: exp.Expr, scope: Scope) -> ResolvedName:
    right, name = scope.relations[-1], identifier.name
    found = next((column for column in right.columns if same(column.name, name)), None)
    if found is None:
        raise _missing(name, (right,), place_of(identifier, scope.text))
    return scope.refer(len(scope.relations) - 1, found)


def _missing(name: str, relations: tuple[Relation, ...], place: Place | None) -> PlanError:
    owners = " and ".join(relation.display_name for relation in relations)
    verb = "has" if len(relations) == 1 else "have"
    known = [column.name for relation in relations for column in relation.columns]
    return PlanError(
        "MS-PLAN-UNKNOWN-COLUMN",
        f"{owners} {verb} no column {name}, which is in USING.",
        fix=nearest(name, known),
        place=place,
    )
