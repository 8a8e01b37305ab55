"""Predicates that packers evaluate with Arrow, in the three-valued logic of SQL, as Spark does.

`compile/pushdown` creates them on the driver, so that workers need no parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

Value = int | str | bool
Columns = Mapping[str, pa.Array]


@dataclass(frozen=True, slots=True)
class LiteralComparison:
    """A comparison of a column with a literal."""

    column: str
    op: str  # of Arrow's functions
    value: Value

    def evaluate(self, columns: Columns) -> pa.Array:
        column = columns[self.column]
        # In the widest type: the literal may be out of the range of the column's type.
        as_int64 = column.cast(pa.int64()) if pa.types.is_integer(column.type) else column
        return pc.call_function(self.op, [as_int64, pa.scalar(self.value)])


@dataclass(frozen=True, slots=True)
class NullCheck:
    """IS NULL."""

    column: str

    def evaluate(self, columns: Columns) -> pa.Array:
        return pc.is_null(columns[self.column])


@dataclass(frozen=True, slots=True)
class BooleanColumn:
    """A column that is itself a predicate."""

    column: str

    def evaluate(self, columns: Columns) -> pa.Array:
        return columns[self.column]


@dataclass(frozen=True, slots=True)
class Not:
    term: ScanPredicate

    def evaluate(self, columns: Columns) -> pa.Array:
        return pc.invert(self.term.evaluate(columns))


@dataclass(frozen=True, slots=True)
class AndOr:
    """AND or OR: Arrow's `and_kleene` or `or_kleene`."""

    op: str
    terms: tuple[ScanPredicate, ...]

    def evaluate(self, columns: Columns) -> pa.Array:
        evaluate = [term.evaluate(columns) for term in self.terms]
        return reduce(lambda one, other: pc.call_function(self.op, [one, other]), evaluate)


ScanPredicate = LiteralComparison | NullCheck | BooleanColumn | Not | AndOr


def columns_in(predicate: ScanPredicate) -> set[str]:
    """Returns the columns that a predicate reads."""
    match predicate:
        case Not(term):
            return columns_in(term)
        case AndOr(_, terms):
            return set().union(*map(columns_in, terms))
        case _:
            return {predicate.column}
