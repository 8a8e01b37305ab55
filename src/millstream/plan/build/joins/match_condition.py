"""Reads the time of a temporal join: FOR SYSTEM_TIME AS OF, or ASOF JOIN … MATCH_CONDITION (…)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation, ResolvedName
from millstream.sql.text import SourceText
from millstream.suggestions import same
from millstream.values import Direction

_DIRECTIONS: dict[type[exp.Expr], tuple[Direction, Direction]] = {
    exp.GTE: (Direction.BACKWARD, Direction.FORWARD),  # the second one if the operands are swapped
    exp.LTE: (Direction.FORWARD, Direction.BACKWARD),
}
_SIGNS = {Direction.BACKWARD: ">=", Direction.FORWARD: "<="}


@dataclass(frozen=True, slots=True)
class AsOf:
    """The time of the left rows, and the direction if a MATCH_CONDITION gives one."""

    moment: exp.Expr
    direction: Direction | None = None
    place: Place | None = None


def is_asof(join: exp.Join) -> bool:
    return join.args.get("method") == "ASOF"


def is_temporal(join: exp.Join) -> bool:
    return is_asof(join) or bool(join.this.args.get("version"))


def reject_asof_of_table(join: exp.Join, text: SourceText) -> None:
    if is_asof(join):
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"{join.this.name} is a reference table, which has no versions for ASOF JOIN.",
            fix="Write JOIN for its current rows, or declare WATERMARK and PRIMARY KEY.",
            place=place_of(join, text),
        )


def reject_match_condition(join: exp.Join, text: SourceText) -> None:
    """Rejects a MATCH_CONDITION without ASOF."""
    condition = join.this.args.get("match_condition")
    if condition is not None and not is_asof(join):
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            "MATCH_CONDITION is only allowed in an ASOF JOIN.",
            fix="Write ASOF JOIN, or ASOF LEFT JOIN to keep rows without a version.",
            place=place_of(condition, text),
        )


def read_as_of(clause: exp.Join, left: LeftInput, right: Relation, place: Place | None) -> AsOf:
    version = clause.this.args.get("version")
    condition = clause.this.args.get("match_condition")
    if version is not None and condition is not None:
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            "the join has both FOR SYSTEM_TIME AS OF and MATCH_CONDITION.",
            fix="Remove one of them.",
            place=place_of(condition, left.text, place),
        )
    if version is not None:
        return AsOf(version.expression)
    example = _example(left, right)
    if condition is None:
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            "ASOF JOIN has no MATCH_CONDITION, which compares the event times.",
            fix=f"Write ASOF JOIN … MATCH_CONDITION ({example}) ON …",
            place=place,
        )
    return _read_condition(condition, left, right, example)


def _read_condition(condition: exp.Expr, left: LeftInput, right: Relation, example: str) -> AsOf:
    place = place_of(condition, left.text)
    compare = condition
    while isinstance(compare, exp.Paren):
        compare = compare.this
    if isinstance(compare, exp.GT | exp.LT):
        _reject(
            "MATCH_CONDITION cannot exclude equal times: a version is valid from its own time on.",
            f"Write MATCH_CONDITION ({example}).",
            place,
        )
    if type(compare) not in _DIRECTIONS:
        _reject(
            "MATCH_CONDITION is not one comparison of the event times of both sides.",
            f"Write MATCH_CONDITION ({example}), and other predicates in ON.",
            place,
        )
    reader = ExpressionReader(left.scope(right))
    reader.check(compare)
    last = len(reader.scope.relations) - 1
    sides = [(node, _column(node, reader)) for node in (compare.this, compare.expression)]
    of_right = [found is not None and _number(found) == last for _, found in sides]
    if of_right not in ([False, True], [True, False]):
        _reject(
            "MATCH_CONDITION does not compare event times of both sides.",
            f"Write MATCH_CONDITION ({example}).",
            place,
        )
    swapped = of_right[0]
    moment, version_time = (side for side in (sides[swapped], sides[not swapped]))
    assert version_time[1] is not None
    if not same(version_time[1].column.name, right.time or ""):
        _reject(
            f"{reader.source_sql(version_time[0])} is not the event time of {right.name}.",
            f"Write MATCH_CONDITION ({example}).",
            place,
        )
    return AsOf(moment[0], _DIRECTIONS[type(compare)][swapped], place)


def _column(node: exp.Expr, reader: ExpressionReader) -> ResolvedName | None:
    return reader.column_reference(node)


def _number(found: ResolvedName) -> int | None:
    return found.origin[0] if found.origin else None


def _example(left: LeftInput, right: Relation) -> str:
    times = [left.time_text(number) for number in left.times.in_order]
    return f"{times[0] if times else '…'} >= {right.display_sql(right.time or '…')}"


def _reject(cause: str, fix: str, place: Place | None) -> NoReturn:
    raise PlanError("MS-PLAN-TEMPORAL", cause, fix=fix, place=place)
