"""Types that the columnar engine supports."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DayTimeIntervalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from millstream.engine.shuffle.types import require_supported
from millstream.errors import PlanError


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (VariantType(), "x is of type variant"),
        (ArrayType(DayTimeIntervalType()), "x is of type array<interval day to second>"),
        (MapType(StringType(), VariantType()), "x is of type map<string,variant>"),
        (StructType([StructField("y", VariantType())]), "x.y is of type variant"),
    ],
    ids=str,
)
def test_a_column_of_another_type_is_rejected(kind: DataType, column: str):
    with pytest.raises(PlanError) as caught:
        require_supported("x", kind)
    assert caught.value.code == "MS-PLAN-COLUMN-TYPE"
    assert caught.value.cause.startswith(f"column {column}, which the columnar engine")


@pytest.mark.parametrize(
    "kind", [LongType(), BinaryType(), MapType(StringType(), ArrayType(LongType()))], ids=str
)
def test_columns_of_supported_types_are_accepted(kind: DataType):
    require_supported("x", kind)
