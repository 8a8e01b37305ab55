"""The types that lookups and table scans can read, with their names in Spark SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

Family = Literal[
    "boolean",
    "whole",
    "float",
    "double",
    "decimal",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "other",
]

_NAMES: dict[pa.DataType, tuple[Family, str]] = {
    pa.bool_(): ("boolean", "BOOLEAN"),
    pa.int8(): ("whole", "TINYINT"),
    pa.int16(): ("whole", "SMALLINT"),
    pa.int32(): ("whole", "INT"),
    pa.int64(): ("whole", "BIGINT"),
    pa.float32(): ("float", "FLOAT"),
    pa.float64(): ("double", "DOUBLE"),
    pa.string(): ("string", "STRING"),
    pa.large_string(): ("string", "STRING"),
    pa.binary(): ("binary", "BINARY"),
    pa.large_binary(): ("binary", "BINARY"),
    pa.date32(): ("date", "DATE"),
    pa.timestamp("us"): ("timestamp_ntz", "TIMESTAMP_NTZ"),
}


@dataclass(frozen=True, slots=True)
class DatabaseColumn:
    """The type of a column in the database.

    Attributes:
        type: The type in SQL, such as `character varying(20)`.
        base: Its short name in the database, such as `varchar`; it decides how values are read.
    """

    type: str
    base: str


def family(declared: pa.DataType) -> Family:
    if declared in _NAMES:
        return _NAMES[declared][0]
    if pa.types.is_decimal(declared):
        return "decimal"
    if pa.types.is_timestamp(declared) and declared.unit == "us":
        return "timestamp"
    return "other"


def spark_name(declared: pa.DataType) -> str:
    if declared in _NAMES:
        return _NAMES[declared][1]
    if pa.types.is_decimal(declared):
        return f"DECIMAL({declared.precision}, {declared.scale})"
    if family(declared) == "timestamp":
        return "TIMESTAMP"
    if pa.types.is_list(declared) or pa.types.is_large_list(declared):
        return f"ARRAY<{spark_name(declared.value_type)}>"
    return str(declared).split("<")[0].upper()
