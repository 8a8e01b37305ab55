"""The packet columns that a join compares: operands of its predicates over pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampType,
)

from millstream.engine.compile.expressions import types_of
from millstream.engine.compile.stateless import StreamFrame
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.types import common_type
from millstream.errors import PlanError
from millstream.plan.expressions import Expression
from millstream.plan.nodes import Join
from millstream.scalars import (
    Arithmetic,
    Case,
    Cast,
    Compare,
    Constant,
    IsNull,
    Like,
    Logic,
    Negation,
    Operand,
    Predicate,
    PredicateOf,
    Scalar,
    ScalarOf,
    ScalarType,
)

# an expression, its type, and the type in which it is compared
TypedExpression = tuple[Expression, DataType, DataType]
_KINDS = (Kind.LEFT_COMPARED, Kind.RIGHT_COMPARED)
TYPES: dict[ScalarType, DataType] = {
    ScalarType.BOOLEAN: BooleanType(),
    ScalarType.TINYINT: ByteType(),
    ScalarType.SMALLINT: ShortType(),
    ScalarType.INT: IntegerType(),
    ScalarType.BIGINT: LongType(),
    ScalarType.FLOAT: FloatType(),
    ScalarType.DOUBLE: DoubleType(),
    ScalarType.STRING: StringType(),
    ScalarType.DATE: DateType(),
    ScalarType.TIMESTAMP: TimestampType(),
}


@dataclass(frozen=True, slots=True)
class ComparedColumns:
    """The compared columns of each side, in the order of their names in packets."""

    left: tuple[TypedExpression, ...]
    right: tuple[TypedExpression, ...]


def columns_to_compare(
    spark: SparkSession,
    node: Join,
    streams: tuple[StreamFrame, StreamFrame],
    predicate: PredicateOf[Expression],
) -> tuple[Predicate, ComparedColumns]:
    """Returns the predicate over names of packet columns, and these columns."""
    operands = Operands()
    across = operands.name_columns(predicate)
    if operands.calculates and spark.conf.get("spark.sql.ansi.enabled") != "true":
        raise PlanError(
            "MS-PLAN-PREDICATE",
            "ON calculates with both sides of the join, and the columnar engine does so only in "
            "ANSI mode.",
            fix="Set spark.sql.ansi.enabled to true, or 'engine' = 'native'.",
            place=node.place,
        )
    pairs = common_types(spark, node, streams, operands.pairs, "A predicate of the join")
    found = []
    for number, side in enumerate((node.left, node.right)):
        columns = operands.columns[number]
        typed = [each.expression for each in columns if each.type is not None]
        kinds = iter(types_of(streams[number].rows, side.alias, typed))
        found.append(
            tuple(
                (each.expression, next(kinds), TYPES[each.type])
                if each.type is not None
                else (each.expression, pairs[each.pair][number], pairs[each.pair][2])
                for each in columns
            )
        )
    return across, ComparedColumns(*found)


@dataclass(frozen=True, slots=True)
class _ComparedColumn:
    """An operand with its type in the plan, or as a part of a pair whose types Spark knows."""

    expression: Expression
    type: ScalarType | None = None
    pair: int = -1


@dataclass(slots=True)
class Operands:
    """The operands of a predicate, numbered on each side."""

    columns: tuple[list[_ComparedColumn], list[_ComparedColumn]] = field(
        default_factory=lambda: ([], [])
    )
    pairs: list[tuple[Expression, Expression]] = field(default_factory=list)
    calculates: bool = False

    def name_columns(  # noqa: PLR0911, a return for each kind of node
        self, node: ScalarOf[Expression]
    ) -> Scalar:
        """Returns an expression with the names of packet columns in place of operands."""
        match node:
            case Operand(value, side, kind):
                return Operand(self._name(side, _ComparedColumn(value, kind)), side, kind)
            case Constant():
                return node
            case Compare(Expression() as left, op, Expression() as right):
                self.pairs.append((left, right))
                pair = len(self.pairs) - 1
                names = [
                    self._name(side, _ComparedColumn(value, pair=pair))
                    for side, value in enumerate((left, right))
                ]
                return Compare(names[0], op, names[1])
            case Compare(left, op, right):
                return Compare(self._inner(left), op, self._inner(right))
            case Logic(op, terms):
                return Logic(op, tuple(self.name_columns(term) for term in terms))
            case IsNull(term):
                return IsNull(self.name_columns(term))
            case Like(term, pattern, escape):
                return Like(self.name_columns(term), self.name_columns(pattern), escape)
            case Case(branches, otherwise, kind):
                named = tuple(
                    (self.name_columns(condition), self.name_columns(value))
                    for condition, value in branches
                )
                return Case(named, self.name_columns(otherwise), kind)
            case Arithmetic(left, op, right, kind):
                self.calculates = True
                return Arithmetic(self.name_columns(left), op, self.name_columns(right), kind)
            case Negation(term, kind):
                self.calculates = True
                return Negation(self.name_columns(term), kind)
            case Cast(term, source, kind):
                self.calculates = True
                return Cast(self.name_columns(term), source, kind)

    def _inner(self, operand: Expression | ScalarOf[Expression]) -> Scalar:
        """Returns a value of a comparison; both are operands of a pair, or none is."""
        return self.name_columns(cast("ScalarOf[Expression]", operand))

    def _name(self, side: int, column: _ComparedColumn) -> str:
        """Returns the name of a compared column. Equal ones are buffered once."""
        columns = self.columns[side]
        if column not in columns:
            columns.append(column)
        return _KINDS[side].name_of(columns.index(column))


def common_types(
    spark: SparkSession,
    node: Join,
    streams: tuple[StreamFrame, StreamFrame],
    pairs: Sequence[tuple[Expression, Expression]],
    what: str,
) -> list[tuple[DataType, DataType, DataType]]:
    """For each pair of expressions: the types of both, and the type in which they are compared."""
    types = []
    for number, side in enumerate((node.left, node.right)):
        rows, values = streams[number].rows, [pair[number] for pair in pairs]
        types.append(types_of(rows, side.alias, values))
    return [
        (left, right, common_type(spark, left, right, what))
        for left, right in zip(types[0], types[1], strict=True)
    ]
