"""Typed expressions and predicates over pairs of rows, which a kernel evaluates as Spark does.

A plan contains them over expressions of its sides, a kernel over names of columns. All conversions
between types are explicit casts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Literal, TypeVar

OperandT = TypeVar("OperandT")  # an expression in a plan, the name of a column in a kernel
Comparator = Literal["=", "<>", "<", "<=", ">", ">="]
ArithmeticOperator = Literal["+", "-", "*", "/", "%"]


class ScalarType(StrEnum):
    """The types that a kernel computes with, by Spark's names."""

    BOOLEAN = "boolean"
    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def is_integer(self) -> bool:
        return self in INTEGER_BITS

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self in (ScalarType.FLOAT, ScalarType.DOUBLE)


INTEGER_BITS = {
    ScalarType.TINYINT: 8,
    ScalarType.SMALLINT: 16,
    ScalarType.INT: 32,
    ScalarType.BIGINT: 64,
}


@dataclass(frozen=True, slots=True)
class Operand(Generic[OperandT]):
    """A value of one side of a pair."""

    value: OperandT
    side: int  # 0 or 1
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Constant:
    value: bool | int | float | str | None
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Arithmetic(Generic[OperandT]):
    """An operation on two numbers of type `type`, which is also that of its result."""

    left: ScalarOf[OperandT]
    op: ArithmeticOperator
    right: ScalarOf[OperandT]
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Negation(Generic[OperandT]):
    """Unary minus."""

    term: ScalarOf[OperandT]
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Cast(Generic[OperandT]):
    term: ScalarOf[OperandT]
    source: ScalarType
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Case(Generic[OperandT]):
    """The value of the first branch whose condition is true. Other values are not evaluated."""

    branches: tuple[tuple[PredicateOf[OperandT], ScalarOf[OperandT]], ...]
    otherwise: ScalarOf[OperandT]
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Compare(Generic[OperandT]):
    """A comparison of columns of both sides, or of values of one type. NULL is treated as in SQL.

    Spark determines the common type of two plain operands.
    """

    left: OperandT | ScalarOf[OperandT]
    op: Comparator
    right: OperandT | ScalarOf[OperandT]


@dataclass(frozen=True, slots=True)
class IsNull(Generic[OperandT]):
    term: ScalarOf[OperandT]


@dataclass(frozen=True, slots=True)
class Like(Generic[OperandT]):
    term: ScalarOf[OperandT]
    pattern: ScalarOf[OperandT]
    escape: str


@dataclass(frozen=True, slots=True)
class Logic(Generic[OperandT]):
    """AND / OR / NOT, in SQL's three-valued logic."""

    op: Literal["and", "or", "not"]
    terms: tuple[PredicateOf[OperandT], ...]


# An operand, a constant or a CASE of type BOOLEAN is a predicate, and a predicate is a value.
ScalarOf = (
    Operand[OperandT]
    | Constant
    | Arithmetic[OperandT]
    | Negation[OperandT]
    | Cast[OperandT]
    | Case[OperandT]
    | Compare[OperandT]
    | IsNull[OperandT]
    | Like[OperandT]
    | Logic[OperandT]
)
PredicateOf = ScalarOf[OperandT]
Scalar = ScalarOf[str]
Predicate = PredicateOf[str]


def terms_of(node: ScalarOf[OperandT]) -> tuple[OperandT | ScalarOf[OperandT], ...]:
    """Returns the direct parts of an expression; a comparison may have plain operands."""
    match node:
        case Arithmetic() | Compare():
            return node.left, node.right
        case Negation() | Cast() | IsNull():
            return (node.term,)
        case Like():
            return node.term, node.pattern
        case Logic():
            return node.terms
        case Case():
            return (*(part for branch in node.branches for part in branch), node.otherwise)
        case _:
            return ()
