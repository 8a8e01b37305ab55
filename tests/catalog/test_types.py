"""Types of columns: canonical names, Arrow types, and what Spark reads from Parquet files."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.catalog.types import arrow_type, canonical_type, spark_type


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("BIGINT", "bigint"),
        ("Integer", "int"),
        ("text", "string"),
        ("DECIMAL(18, 6)", "decimal(18,6)"),
        ("numeric", "decimal(10,0)"),
        ("decimal(5)", "decimal(5,0)"),
        ("Timestamp", "timestamp"),
        ("TIMESTAMP_NTZ", "timestamp_ntz"),
        ("array< int >", "array<int>"),
        ("MAP<string, Double>", "map<string,double>"),
        ("struct<Ab: int, c array<date>>", "struct<Ab:int,c:array<date>>"),
    ],
)
def test_a_type_has_one_name(text, name):
    assert canonical_type(text) == name
    assert canonical_type(name) == name
    assert spark_type(arrow_type(name)) == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("foo", "'foo' is not a type; known: boolean"),
        ("", "'' is not a type"),
        ("int; drop table x", "is not a type|cannot have the type"),
        ("varchar(10)", r"cannot have the type VARCHAR\(10\)"),
        ("decimal(39,2)", "the precision is 1 to 38"),
        ("decimal(3,4)", "the scale at most the precision"),
        ("interval day", "cannot have the type|is not a type"),
        ("array", "cannot have the type ARRAY"),
        ("a" + "<" * 500, "is not a type"),
    ],
)
def test_other_types_are_rejected_with_the_reason(text, words):
    with pytest.raises(ValueError, match=words):
        canonical_type(text)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (pa.large_string(), "string"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.uint8(), "smallint"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.timestamp("ms", "Europe/Vienna"), "timestamp"),
        (pa.timestamp("ns"), None),
        (pa.time64("us"), None),
        (pa.struct([("a", pa.time64("us"))]), None),
        (pa.decimal256(50, 2), None),
        (pa.large_list(pa.int16()), "array<smallint>"),
    ],
)
def test_a_type_of_a_parquet_file_is_what_spark_reads(found, name):
    assert spark_type(found) == name
