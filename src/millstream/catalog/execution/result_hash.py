"""The hash of a result: equal for equal bags of rows, in any order and any number of files.

Spark hashes each row, and the hashes are added: a sum does not depend on the order. It is computed
while the rows are written, so nothing is read twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    UserDefinedType,
    VariantType,
)

from millstream.catalog.model import Column
from millstream.errors import ProjectError
from millstream.plan.expressions.spark_sql import quote

_FORMAT = "rows-1"  # changes if the same rows would get another hash
# Sums of two pieces of 28 bits overflow at 2^35 rows.
_BITS = 28
_PIECES = 2
# Spark's hash skips NULL. In its place, a value is hashed that data is very unlikely to contain,
# another one for each column.
_NULL: Mapping[type[DataType], Callable[[int], Any]] = {
    LongType: lambda column: -7_046_029_254_386_353_131 + column,
    DoubleType: lambda column: -1.2345678901234e-300 * (column + 1),
    StringType: lambda column: f"\0NULL {column}",
}


@dataclass(slots=True)
class ObservedRows:
    """Counts and hashes the rows of a DataFrame while it is executed."""

    frame: DataFrame
    schema: tuple[Column, ...] = field(init=False)
    rows: DataFrame = field(init=False)  # to be executed in the place of `frame`
    _observation: Observation = field(init=False, default_factory=Observation)

    def __post_init__(self) -> None:
        fields = self.frame.schema.fields
        self.schema = tuple(Column(each.name, each.dataType.simpleString()) for each in fields)
        row = F.xxhash64(*(part for each in enumerate(fields) for part in _parts(*each)))
        sums = [
            F.sum(F.shiftrightunsigned(row, piece * _BITS).bitwiseAND(F.lit((1 << _BITS) - 1)))
            for piece in range(_PIECES)
        ]
        named = [each.alias(f"hash_{number}") for number, each in enumerate(sums)]
        count = F.count(F.lit(1)).alias("rows")
        self.rows = self.frame.observe(self._observation, count, *named)

    def count(self) -> int:
        """Returns the number of rows, once they have been executed."""
        return int(self._observation.get["rows"])

    def content_hash(self) -> str:
        """Returns the hash, once the rows have been executed."""
        return _combine(self.schema, self._observation.get)


def _combine(schema: Sequence[Column], sums: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(_FORMAT.encode())
    for column in schema:
        digest.update(f"\0{column.name}\0{column.type}".encode())
    for name in ("rows", *(f"hash_{piece}" for piece in range(_PIECES))):
        digest.update(f"\0{sums[name] or 0}".encode())
    return f"{_FORMAT}:{digest.hexdigest()}"


def _parts(number: int, column: StructField) -> tuple[SparkColumn, ...]:
    """Returns what is hashed of a column."""
    value, kind = F.col(quote(column.name)), column.dataType
    if type(kind) in _NULL:
        return (F.coalesce(value, F.lit(_NULL[type(kind)](number))),)
    if isinstance(kind, StructType | ArrayType | MapType):
        # In a struct or array, the place of a NULL would not count.
        ordered = _sort_maps(column.name, value, kind)
        return (F.to_json(F.struct(ordered), {"ignoreNullFields": "false"}), F.lit(number))
    if isinstance(kind, VariantType | UserDefinedType):
        raise _type_error(column.name, kind)
    return (value, value.isNull())


def _sort_maps(name: str, value: SparkColumn, kind: DataType) -> SparkColumn:
    """Returns a value with the entries of each map in the order of its keys."""
    match kind:
        case MapType():
            entries = F.transform(
                F.map_entries(value),
                lambda entry: F.struct(
                    entry["key"], _sort_maps(name, entry["value"], kind.valueType)
                ),
            )
            return F.array_sort(entries)
        case ArrayType():
            return F.transform(value, lambda each: _sort_maps(name, each, kind.elementType))
        case StructType():
            fields = [
                _sort_maps(name, value[each.name], each.dataType).alias(each.name)
                for each in kind.fields
            ]
            return F.when(value.isNotNull(), F.struct(*fields))
        case VariantType() | UserDefinedType():
            raise _type_error(name, kind)
    return value


def _type_error(name: str, kind: DataType) -> ProjectError:
    return ProjectError(
        "MS-PROJECT-RESULT-TYPE",
        f"column {name} of the result has values of type {kind.simpleString()}, which cannot be "
        "compared with those of a replay.",
        fix="Assign a string or a struct to the column.",
    )
