"""Which conditions of a WHERE a packer can decide as Spark would.

A column compared with a literal of its own kind (integers, texts, booleans), NULL or not, one of a
list, and AND, OR, NOT of these. All else is Spark's to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlglot
from pyspark.sql.types import BooleanType, DataType, IntegralType, StringType
from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.spark.conditions import Both, Compared, Condition, Flagged, Lacking, Not

_OPS: dict[type[exp.Expression], tuple[str, str]] = {  # and with its sides changed
    exp.EQ: ("equal", "equal"),
    exp.NEQ: ("not_equal", "not_equal"),
    exp.LT: ("less", "greater"),
    exp.LTE: ("less_equal", "greater_equal"),
    exp.GT: ("greater", "less"),
    exp.GTE: ("greater_equal", "less_equal"),
}


def condition(
    text: str, column_of: Callable[[str], str | None], types: Mapping[str, DataType]
) -> Condition | None:
    """What a text in Spark SQL asks of a row, or None where only Spark can say. `column_of` gives
    the name under which a column is found that the text names."""
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        return None
    try:
        return _Reading(column_of, types).read(tree)
    except _OnlySpark:
        return None


class _OnlySpark(Exception):  # noqa: N818 -- no error: how the search ends
    pass


@dataclass(frozen=True, slots=True)
class _Reading:
    column_of: Callable[[str], str | None]
    types: Mapping[str, DataType]

    def read(self, tree: Any) -> Condition:
        match tree:
            case exp.Paren():
                return self.read(tree.this)
            case exp.And() | exp.Or():
                op = "and_kleene" if isinstance(tree, exp.And) else "or_kleene"
                return Both(op, (self.read(tree.left), self.read(tree.right)))
            case exp.Not():
                return Not(self.read(tree.this))
            case exp.Column():
                return Flagged(self._column(tree, BooleanType))
            case exp.Is(this=column, expression=exp.Null()):
                return Lacking(self._column(column))
        return self._of_literals(tree)

    def _of_literals(self, tree: Any) -> Condition:
        match tree:
            case exp.In(this=column) if tree.expressions and len(tree.args) <= 2:
                found = tuple(self._compared(column, "equal", each) for each in tree.expressions)
                return Both("or_kleene", found)
            case exp.Between(this=column) if not tree.args.get("symmetric"):
                low = self._compared(column, "greater_equal", tree.args["low"])
                high = self._compared(column, "less_equal", tree.args["high"])
                return Both("and_kleene", (low, high))
        if type(tree) not in _OPS:
            raise _OnlySpark
        op, changed = _OPS[type(tree)]
        if isinstance(tree.left, exp.Column):
            return self._compared(tree.left, op, tree.right)
        return self._compared(tree.right, changed, tree.left)

    def _column(self, tree: Any, kind: type[DataType] = DataType) -> str:
        name = self.column_of(tree.sql(dialect="spark")) if isinstance(tree, exp.Column) else None
        if name is None or not isinstance(self.types[name], kind):
            raise _OnlySpark
        return name

    def _compared(self, column: Any, op: str, literal: Any) -> Compared:
        name = self._column(column)
        kind = self.types[name]
        if isinstance(kind, IntegralType):
            return Compared(name, op, _integer(literal))
        if isinstance(literal, exp.Literal) and literal.is_string and kind == StringType():
            if "\\" not in literal.this:
                return Compared(name, op, str(literal.this))
        elif isinstance(literal, exp.Boolean) and isinstance(kind, BooleanType):
            return Compared(name, op, bool(literal.this))
        raise _OnlySpark


def _integer(tree: Any) -> int:
    negative = isinstance(tree, exp.Neg)
    literal = tree.this if negative else tree
    if not isinstance(literal, exp.Literal) or literal.is_string or not literal.this.isdigit():
        raise _OnlySpark
    value = -int(literal.this) if negative else int(literal.this)
    if abs(value) >= 2**63:
        raise _OnlySpark
    return value
