"""The common type of a column of UNION ALL, by the rules of Spark's ANSI mode."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from millstream.errors import Place, PlanError
from millstream.plan.expressions import column, template
from millstream.plan.nodes import Output, Select
from millstream.sql.normal_type import normal_type

ALIAS = "union_all"  # of the streams below and above a UNION ALL
_INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}  # with their decimal digits
_FRACTIONS = ("float", "double")
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_MAX_DIGITS = 38


def common_type(types: Sequence[str]) -> str | None:
    """Returns the type that all columns are cast to, or None if there is none."""
    first, *others = (_full_name(each) for each in types)
    found: str | None = first
    for other in others:
        found = None if found is None else _wider(found, other)
    return found


def _full_name(kind: str) -> str:
    name = normal_type(kind)
    name = "decimal(10,0)" if name == "decimal" else name
    return re.sub(r"^decimal\((\d+)\)$", r"decimal(\1,0)", name)


def _wider(one: str, other: str) -> str | None:
    if other in (one, "void"):
        return one
    if one == "void":
        return other
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=lambda name: _INTEGERS[name])
    digits = [_digits(each) for each in (one, other)]
    if None not in digits:
        return _wider_decimal([each for each in digits if each is not None])
    is_number = all(each in _FRACTIONS or _digits(each) for each in (one, other))
    return "double" if is_number else None


def _digits(kind: str) -> tuple[int, int] | None:
    """Returns precision and scale of an exact number."""
    if kind in _INTEGERS:
        return _INTEGERS[kind], 0
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else None


def _wider_decimal(digits: Sequence[tuple[int, int]]) -> str:
    whole = reduce(max, (precision - scale for precision, scale in digits))
    scale = reduce(max, (scale for _, scale in digits))
    return f"decimal({min(whole + scale, _MAX_DIGITS)},{min(scale, _MAX_DIGITS)})"


def type_error(name: str, first: str, other: str, place: Place | None) -> PlanError:
    return PlanError(
        "MS-PLAN-UNION",
        f"column {name} of the UNION ALL is {first.upper()} in one query and {other.upper()} in "
        "this one.",
        fix="CAST it to the same type in all queries.",
        place=place,
    )


def with_types(query: Select, types: Mapping[str, str]) -> Select:
    """Returns a query with some columns cast to other types."""
    return replace(
        query,
        input=query,
        outputs=tuple(
            Output(
                template(f"CAST({{}} AS {types[each.name]})", column(ALIAS, each.name))
                if each.name in types
                else column(ALIAS, each.name, each.type),
                each.name,
            )
            for each in query.columns
        ),
        where=None,
        alias=ALIAS,
        stream=None,
    )
