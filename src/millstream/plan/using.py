"""USING (…): the keys it stands for, and the columns it makes one."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.bounds import OpenBounds
from millstream.plan.names import nearest, same
from millstream.plan.nodes import Column, JoinType, Key
from millstream.plan.refuse import place_of
from millstream.plan.scope import Merged, Scope


def using_keys(clause: exp.Join, scope: Scope) -> list[Key]:
    """The keys; the event times, if USING names both, are a bound and no key."""
    left, right = scope.relations
    return [
        Key(left.text(one.name), right.text(other.name))
        for one, other in _using_columns(clause, scope)
        if (one.name, other.name) != (left.time, right.time)
    ]


def using_bounds(clause: exp.Join, scope: Scope) -> OpenBounds:
    """USING the event times of both sides says that they are equal."""
    left, right = scope.relations
    pairs = [(one.name, other.name) for one, other in _using_columns(clause, scope)]
    return OpenBounds(0, 0) if (left.time, right.time) in pairs else OpenBounds()


def merged_columns(clause: exp.Join, scope: Scope, how: JoinType) -> dict[str, Merged]:
    left, right = scope.relations
    merged = {}
    for one, other in _using_columns(clause, scope):
        texts = left.text(one.name), right.text(other.name)
        reads = (0, one.name), (1, other.name)
        if how is JoinType.FULL:
            item = Merged(f"coalesce({texts[0]}, {texts[1]})", reads, one)
        elif how is JoinType.RIGHT:
            item = Merged(texts[1], reads[1:], other)
        else:
            item = Merged(texts[0], reads[:1], one)
        merged[one.name.lower()] = item
    return merged


def _using_columns(clause: exp.Join, scope: Scope) -> list[tuple[Column, Column]]:
    pairs = []
    for identifier in clause.args.get("using") or []:
        found = []
        for relation in scope.relations:
            column = next((c for c in relation.columns if same(c.name, identifier.name)), None)
            if column is None:
                raise PlanError(
                    "MS-PLAN-UNKNOWN-COLUMN",
                    f"{relation.alias} has no column {identifier.name}, which USING names.",
                    fix=nearest(identifier.name, [c.name for c in relation.columns]),
                    place=place_of(identifier, scope.text),
                )
            found.append(column)
        pairs.append((found[0], found[1]))
    return pairs
