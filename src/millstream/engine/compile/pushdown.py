"""Selects the predicates that a packer can evaluate with the same result as Spark.

These are comparisons of a column with literals of its type (integers, texts, booleans), IS NULL,
IN lists, and AND, OR, NOT of these. Spark evaluates all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql.types import BooleanType, DataType, IntegralType, StringType

from millstream.engine.scan.predicates import (
    AndOr,
    BooleanColumn,
    LiteralComparison,
    Not,
    NullCheck,
    ScanPredicate,
)
from millstream.plan.expressions import ColumnReference, Expression
from millstream.plan.expressions.predicates import (
    Comparison,
    IsNull,
    IsTrue,
    Junction,
    LiteralPredicate,
    Negation,
    literal_predicate,
)

ColumnOf = Callable[[ColumnReference], str | None]


def scan_predicate(
    expression: Expression, column_of: ColumnOf, types: Mapping[str, DataType]
) -> ScanPredicate | None:
    """Returns the expression as a predicate of packers, or None if only Spark can evaluate it.
    `column_of` returns the name of a referenced column."""
    predicate = literal_predicate(expression)
    return None if predicate is None else _Binding(column_of, types).bound(predicate)


@dataclass(frozen=True, slots=True)
class _Binding:
    column_of: ColumnOf
    types: Mapping[str, DataType]

    def bound(self, predicate: LiteralPredicate) -> ScanPredicate | None:
        match predicate:
            case Junction():
                terms = [self.bound(term) for term in predicate.terms]
                known = tuple(term for term in terms if term is not None)
                return AndOr(f"{predicate.op}_kleene", known) if len(known) == len(terms) else None
            case Negation():
                term = self.bound(predicate.term)
                return None if term is None else Not(term)
            case IsTrue():
                name = self._column(predicate.column, BooleanType)
                return None if name is None else BooleanColumn(name)
            case IsNull():
                name = self._column(predicate.column)
                return None if name is None else NullCheck(name)
            case Comparison():
                return self._compared(predicate)

    def _column(self, reference: ColumnReference, kind: type[DataType] = DataType) -> str | None:
        name = self.column_of(reference)
        return name if name is not None and isinstance(self.types[name], kind) else None

    def _compared(self, comparison: Comparison) -> LiteralComparison | None:
        name, value = self._column(comparison.column), comparison.value
        if name is None:
            return None
        kind, of = self.types[name], type(value)
        fits = (
            (of is int and isinstance(kind, IntegralType))
            or (of is str and kind == StringType())
            or (of is bool and isinstance(kind, BooleanType))
        )
        return LiteralComparison(name, comparison.op, value) if fits else None
