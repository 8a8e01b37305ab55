"""Plain conditions of a WHERE, as a packer decides them: as Spark would, with SQL's three values.

`where` reads them from a text: workers need no parser.
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
class Compared:
    column: str
    op: str  # of Arrow's functions
    value: Value

    def decided(self, columns: Columns) -> pa.Array:
        column = columns[self.column]
        # In the widest type: a literal may be out of a narrow column's range.
        wide = column.cast(pa.int64()) if pa.types.is_integer(column.type) else column
        return pc.call_function(self.op, [wide, pa.scalar(self.value)])


@dataclass(frozen=True, slots=True)
class Lacking:
    column: str

    def decided(self, columns: Columns) -> pa.Array:
        return pc.is_null(columns[self.column])


@dataclass(frozen=True, slots=True)
class Flagged:
    """By a boolean column."""

    column: str

    def decided(self, columns: Columns) -> pa.Array:
        return columns[self.column]


@dataclass(frozen=True, slots=True)
class Not:
    term: Condition

    def decided(self, columns: Columns) -> pa.Array:
        return pc.invert(self.term.decided(columns))


@dataclass(frozen=True, slots=True)
class Both:
    """AND or OR: Arrow's `and_kleene` or `or_kleene`."""

    op: str
    terms: tuple[Condition, ...]

    def decided(self, columns: Columns) -> pa.Array:
        decided = [term.decided(columns) for term in self.terms]
        return reduce(lambda one, other: pc.call_function(self.op, [one, other]), decided)


Condition = Compared | Lacking | Flagged | Not | Both


def columns_in(asked: Condition) -> set[str]:
    match asked:
        case Not(term):
            return columns_in(term)
        case Both(_, terms):
            return set().union(*map(columns_in, terms))
        case _:
            return {asked.column}
