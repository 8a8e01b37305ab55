"""Values that plan nodes consist of: columns, keys, aggregate calls and enums."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from millstream.errors import Place
from millstream.field_roles import Neither, SqlType, State
from millstream.values import Pane

if TYPE_CHECKING:  # executors that know nodes need no parser
    from millstream.plan.expressions import Expression


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Its type is Spark SQL text, or None if only Spark's analysis can determine it."""

    name: State[str]
    type: State[SqlType | None] = None


@dataclass(frozen=True, slots=True)
class UnsupportedPart:
    """A part of a predicate over both sides of a join that a kernel cannot evaluate."""

    sql: Neither[str]
    reason: Neither[str]
    place: Neither[Place | None]


class Engine(StrEnum):
    AUTO = "auto"
    COLUMNAR = "columnar"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Output:
    """One column of a SELECT: an expression and its name.

    `pane` describes the same value for code that can compute it without Spark.
    """

    expression: State[Expression]
    name: State[str]
    pane: Neither[Pane | None] = None

    @property
    def type(self) -> str | None:
        return self.expression.type


@dataclass(frozen=True, slots=True)
class Key:
    """An equality of a join: one expression per side, over that side's alias."""

    left: State[Expression]
    right: State[Expression]


@dataclass(frozen=True, slots=True)
class TableKey:
    """An equality of a table join: an expression over the stream and a column of the table."""

    left: State[Expression]
    right: State[str]  # the column's name


@dataclass(frozen=True, slots=True)
class Order:
    """One term of ORDER BY."""

    expression: State[Expression]
    descending: State[bool] = False
    nulls_first: State[bool] = True


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an aggregate function. Its argument is an expression over the input's alias.

    `function` is one of `millstream.aggregate_functions.FUNCTIONS`. FILTER makes the argument NULL
    where the filter is not true. Only functions that do not skip NULLs have it in `filter`.
    """

    function: State[str]
    argument: State[Expression | None]  # None: COUNT(*)
    name: State[str]  # of the result column: a0, a1, …
    type: Neither[str | None] = None
    filter: State[Expression | None] = None
    by: State[Expression | None] = None  # max_by, min_by: the ordering expression
    ignore_nulls: State[bool] = True  # first, last
    parameters: State[tuple[float, ...]] = ()  # percentiles; accuracy


WINDOW_START, WINDOW_END, WINDOW_TIME = "_window_start", "_window_end", "_window_time"
WINDOW_UNTIL = "_window_until"  # the time until which rows of a pane are not late
OP = "_op"


class JoinKind(StrEnum):
    """The values of 'join.type'.

    Syntax determines the kind, except for the regular join: an interval join without a time bound,
    with 'state.ttl' as its retention.
    """

    INTERVAL = "interval"
    WINDOW = "window"
    TEMPORAL = "temporal"
    LOOKUP = "lookup"  # with the current rows of any table, by lookup or broadcast
    REGULAR = "regular"
