"""What nodes are made of: columns, keys, predicates and choices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from millstream.field_roles import Neither, SqlType, State
from millstream.values import Pane

if TYPE_CHECKING:  # executors that know nodes need no parser
    from millstream.plan.expressions import Expression


@dataclass(frozen=True, slots=True)
class Column:
    """A column; its type is Spark SQL text, or None where only Spark's analysis can tell it."""

    name: State[str]
    type: State[SqlType | None] = None


class Engine(StrEnum):
    AUTO = "auto"
    COLUMNAR = "columnar"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Output:
    """One column of a SELECT: an expression and the name it gets. `pane` says the same as the
    expression, for those who need not ask Spark."""

    expression: State[Expression]
    name: State[str]
    pane: Neither[Pane | None] = None

    @property
    def type(self) -> str | None:
        return self.expression.type


@dataclass(frozen=True, slots=True)
class Key:
    """An equality of the join: one expression a side, over that side's alias."""

    left: State[Expression]
    right: State[Expression]


@dataclass(frozen=True, slots=True)
class TableKey:
    """An equality with a column of a table, in the join of a stream with it."""

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
    """An aggregate function. Its argument is an expression over the input's alias.

    `function` is one of FUNCTIONS. With FILTER, the argument is NULL where the filter is not true,
    but for functions that see NULLs: those have the filter apart.
    """

    function: State[str]
    argument: State[Expression | None]  # None: COUNT(*)
    name: State[str]  # of the column it gives: a0, a1, …
    type: Neither[str | None] = None
    filter: State[Expression | None] = None
    by: State[Expression | None] = None  # max_by, min_by: what they go by
    ignore_nulls: State[bool] = True  # first, last
    parameters: State[tuple[float, ...]] = ()  # percentiles; accuracy


FUNCTIONS = (
    *("count", "count_distinct", "sum", "avg", "min", "max"),
    *("stddev_samp", "stddev_pop", "var_samp", "var_pop"),
    *("first", "last", "approx_count_distinct", "approx_percentile", "collect_list"),
    *("collect_set", "bool_and", "bool_or", "max_by", "min_by"),
)
WINDOW_START, WINDOW_END, WINDOW_TIME = "_window_start", "_window_end", "_window_time"
WINDOW_UNTIL = "_window_until"  # until when rows of a pane are on time
OP = "_op"
