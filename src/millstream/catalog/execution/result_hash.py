"""The hash of a result: equal for equal bags of rows, in any order and any number of files.

Each row is hashed twice by Spark, and hashes are added: a sum does not depend on the order. It is
computed while the rows are written, so nothing is read twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UserDefinedType,
    VariantType,
)

from millstream.catalog.model import Column
from millstream.errors import ProjectError
from millstream.plan.expressions.quoting import quote

_FORMAT = "rows-1"  # changes if the same rows would get another hash
_SEEDS = (0, 1)
# A sum of pieces of 22 bits overflows at 2^41 rows.
_BITS = 22
_PIECES = 3
_MASK = (1 << _BITS) - 1


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
        values = [part for each in fields for part in _parts(each)]
        sums = []
        for seed in _SEEDS:
            row = F.xxhash64(F.lit(seed), *values)
            for piece in range(_PIECES):
                bits = F.shiftrightunsigned(row, piece * _BITS).bitwiseAND(F.lit(_MASK))
                sums.append(F.sum(bits).alias(f"hash_{seed}_{piece}"))
        count = F.count(F.lit(1)).alias("rows")
        self.rows = self.frame.observe(self._observation, count, *sums)

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
    digest.update(f"\0{sums['rows']}".encode())
    for seed in _SEEDS:
        pieces = (int(sums[f"hash_{seed}_{piece}"] or 0) for piece in range(_PIECES))
        total = sum(value << (piece * _BITS) for piece, value in enumerate(pieces))
        digest.update(f"\0{total}".encode())
    return f"{_FORMAT}:{digest.hexdigest()}"


def _parts(column: StructField) -> tuple[SparkColumn, ...]:
    """Returns what is hashed of a column. Spark's hash skips NULL, so that is a value of its own,
    and takes no maps."""
    value, kind = F.col(quote(column.name)), column.dataType
    if isinstance(kind, StructType | ArrayType):
        _reject_maps(column.name, kind)
        # In a struct or array, the place of a NULL would not count.
        value = F.to_json(F.struct(value), {"ignoreNullFields": "false"})
        return (value,)
    _reject_maps(column.name, kind)
    return (value, value.isNull())


def _reject_maps(name: str, kind: DataType) -> None:
    if isinstance(kind, MapType | VariantType | UserDefinedType):
        raise ProjectError(
            "MS-PROJECT-RESULT-TYPE",
            f"column {name} of the result has a value of type {kind.simpleString()}, whose order "
            "is not defined, so results could not be compared.",
            fix="Assign map_entries(…) in a fixed order, or a string, to the column.",
        )
    if isinstance(kind, ArrayType):
        _reject_maps(name, kind.elementType)
    if isinstance(kind, StructType):
        for each in kind.fields:
            _reject_maps(name, each.dataType)
