"""Properties of file sinks are checked at planning, with their place."""

from __future__ import annotations

import pytest

from millstream.connectors.file.sink_options import csv_dialect
from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.values import CsvDialect

SOURCE = "CREATE SOURCE a (k STRING);\n"


def sink(properties: str) -> str:
    return (
        f"{SOURCE}CREATE SINK out WITH ('connector' = 'file', 'path' = 'out',\n{properties}) AS "
        "SELECT k FROM a;"
    )


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        (
            "'format' = 'xml'",
            "MS-PROP-VALUE at line 3, column 12: 'format' cannot be 'xml'. Use one of csv, "
            "json, parquet, orc, avro.",
        ),
        (
            "'format' = 'text'",
            "MS-PROP-VALUE at line 3, column 12: 'format' cannot be 'text'. Use one of csv, "
            "json, parquet, orc, avro.",
        ),
        (
            "'format' = 'csv', 'quote' = '||'",
            "MS-PROP-VALUE at line 3, column 29: 'quote' cannot be '||'. Use one ASCII character "
            "that is not a line break; \\t is a tab.",
        ),
        (
            "'format' = 'csv', 'delimiter' = 'é'",
            "MS-PROP-VALUE at line 3, column 33: 'delimiter' cannot be 'é'. Use one ASCII "
            "character that is not a line break; \\t is a tab.",
        ),
        (
            "'format' = 'csv', 'delimiter' = ';', 'quote' = ';'",
            "MS-PROP-VALUE at line 3, column 48: 'quote' and 'delimiter' are the same character, "
            "so values cannot be read back. Choose another character for one of them.",
        ),
        (
            "'format' = 'csv', 'delimiter' = '\\\"'",
            "MS-PROP-VALUE at line 3, column 33: 'quote' and 'delimiter' are the same character, "
            "so values cannot be read back. Choose another character for one of them.",
        ),
        (
            "'format' = 'csv', 'null.value' = 'a,b'",
            "MS-PROP-VALUE at line 3, column 34: 'null.value' = 'a,b' cannot be read back, "
            "because it is written without quotes. Use a value without delimiters, quotes, line "
            "breaks and surrounding blanks, such as NULL. The default is empty.",
        ),
        (
            "'format' = 'csv', 'encoding' = 'latin1'",
            "MS-PROP-VALUE at line 3, column 32: 'encoding' cannot be 'latin1'. Use one of utf-8.",
        ),
        (
            "'format' = 'csv', 'compression' = 'snappy'",
            "MS-PROP-VALUE at line 3, column 35: 'compression' = 'snappy' is not supported for "
            "csv files. Use one of none, gzip, bzip2.",
        ),
        (
            "'format' = 'parquet', 'compression' = 'bzip2'",
            "MS-PROP-VALUE at line 3, column 39: 'compression' = 'bzip2' is not supported for "
            "parquet files. Use one of none, snappy, gzip, zstd, lz4.",
        ),
        (
            "'quote' = '|'",
            "MS-PROP-UNUSED at line 3, column 1: 'quote' applies to the format csv, and the "
            "format of the sink out is json. Remove it, or set 'format' = 'csv'.",
        ),
    ],
)
def test_invalid_properties_of_a_file_sink_are_rejected(properties: str, error: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        build_job(sink(properties))
    assert str(caught.value) == error


@pytest.mark.parametrize("form", ["text", "xml"])
def test_formats_that_cannot_be_read_are_rejected(form: str) -> None:
    with pytest.raises(MillstreamError, match="Use one of csv, json, parquet, orc, avro") as caught:
        build_job(
            f"CREATE SOURCE a (k STRING) WITH ('connector' = 'file', 'path' = 'a', "
            f"'format' = '{form}');"
        )
    assert caught.value.code == "MS-PROP-VALUE"


def test_a_dialect_is_that_of_rfc_4180_unless_properties_say_otherwise() -> None:
    plain = build_job(sink("'format' = 'csv', 'encoding' = 'UTF-8'"))
    assert csv_dialect(plain.pipelines[0].sink) == CsvDialect(",", '"', '"', "", True)
    other = build_job(
        sink(
            "'format' = 'csv', 'delimiter' = '\\\\t', 'quote' = '|', 'null.value' = 'NULL', "
            "'header' = 'false'"
        )
    )
    assert csv_dialect(other.pipelines[0].sink) == CsvDialect("\t", "|", "|", "NULL", False)
    escaped = build_job(sink("'format' = 'csv', 'escape' = '\\\\'"))
    assert csv_dialect(escaped.pipelines[0].sink) == CsvDialect(",", '"', "\\", "", True)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("a", "a"),
        ("", '""'),
        (" a", '" a"'),
        ("a,b", '"a,b"'),
        ('a"b', '"a""b"'),
        ("a\nb", '"a\nb"'),
        ("a\\b", "a\\b"),
    ],
)
def test_values_are_quoted_where_necessary(text: str, field: str) -> None:
    assert CsvDialect().field(text) == field


def test_an_escape_character_is_escaped_too() -> None:
    assert CsvDialect(escape="\\").field('a\\"b') == '"a\\\\\\"b"'
