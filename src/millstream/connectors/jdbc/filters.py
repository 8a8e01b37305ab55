"""Filters that a database evaluates exactly as Spark does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql.datasource import (
    ColumnPath,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)

from millstream.connectors.lookup.types import Family, family

Operator = Literal[
    "=", "<", "<=", ">", ">=", "in", "is null", "is not null", "is not distinct from"
]

_COMPARISONS: dict[type[Filter], Operator] = {
    EqualTo: "=",
    EqualNullSafe: "is not distinct from",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    In: "in",
}
_NULL_TESTS: dict[type[Filter], Operator] = {IsNull: "is null", IsNotNull: "is not null"}


@dataclass(frozen=True, slots=True)
class ScanFilter:
    """A column compared with constants."""

    column: str
    op: Operator
    values: tuple[Any, ...] = ()


def scan_filter(
    pushed: Filter, schema: pa.Schema, comparable: frozenset[Family]
) -> ScanFilter | None:
    """Returns the filter for the database; None if only Spark can evaluate it.

    Columns of the types in `comparable` have the same order and equality in both.
    """
    path: ColumnPath = getattr(pushed, "attribute", ())
    if len(path) != 1:
        return None
    name = path[0]
    if (op := _NULL_TESTS.get(type(pushed))) is not None:
        return ScanFilter(name, op)
    op = _COMPARISONS.get(type(pushed))
    if op is None or family(schema.field(name).type) not in comparable:
        return None
    value = getattr(pushed, "value", None)
    values = tuple(value) if op == "in" and value is not None else (value,)
    # Neither database stores U+0000 in strings.
    if any(each is None or (isinstance(each, str) and "\0" in each) for each in values):
        return None
    return ScanFilter(name, op, values)
