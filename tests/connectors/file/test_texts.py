"""Rows that executors format as text: what readers of JSON and CSV find in it."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.file.texts import csv_lines, json_lines, plain_text, strftime_format
from millstream.errors import PlanError
from millstream.values import CsvDialect

texts = st.none() | st.text(st.characters(codec="utf-8"))


@given(st.lists(st.tuples(texts, texts), min_size=1))
def test_any_string_round_trips_through_a_line_of_json(rows):
    batch = pa.record_batch(
        {"a": pa.array([a for a, _ in rows], pa.string()), 'b"': [b for _, b in rows]}
    )
    lines = json_lines(batch).to_pylist()
    assert all("\n" not in line for line in lines)
    assert [tuple(json.loads(line).values()) for line in lines] == rows
    assert list(json.loads(lines[0])) == ["a", 'b"']


def test_values_of_every_type_have_their_text_in_json():
    at = datetime(2026, 1, 15, 10, 0, 0, 5, tzinfo=UTC)
    values = {
        "whole": pa.array([1]),
        "money": pa.array([Decimal("0.50")], pa.decimal128(9, 2)),
        "real": pa.array([1.0]),
        "large": pa.array([1e20]),
        "nan": pa.array([float("nan")]),
        "flag": pa.array([True]),
        "day": pa.array([date(2026, 1, 15)]),
        "at": pa.array([at], pa.timestamp("us", "UTC")),
        "local": pa.array([at.replace(tzinfo=None)], pa.timestamp("us")),
        "list": pa.array([[1, None]], pa.list_(pa.int64())),
        "struct": pa.array(
            [{"a": "x", "at": at}],
            pa.struct([("a", pa.string()), ("at", pa.timestamp("us", "UTC"))]),
        ),
        "map": pa.array([[("k", [1.5])]], pa.map_(pa.string(), pa.list_(pa.float64()))),
        "bytes": pa.array([b"\xff"]),
        "null": pa.nulls(1),
    }
    assert json_lines(pa.record_batch(values)).to_pylist() == [
        '{"whole":1,"money":0.50,"real":1.0,"large":1.0E20,"nan":"NaN","flag":true,'
        '"day":"2026-01-15","at":"2026-01-15T10:00:00.000005Z","local":"2026-01-15T10:00:00.000005",'
        '"list":[1,null],"struct":{"a":"x","at":"2026-01-15T10:00:00.000005Z"},"map":{"k":[1.5]},'
        '"bytes":"/w==","null":null}'
    ]


def test_slices_of_nested_columns_have_their_own_rows():
    lists = pa.array([[1], [2, 3], None, []], pa.list_(pa.int64()))
    maps = pa.array([[("a", 1)], None, [("b", 2)], []], pa.map_(pa.string(), pa.int64()))
    batch = pa.record_batch({"l": lists, "m": maps}).slice(1)
    assert json_lines(batch).to_pylist() == [
        '{"l":[2,3],"m":null}',
        '{"l":null,"m":{"b":2}}',
        '{"l":[],"m":{}}',
    ]


@given(st.lists(st.tuples(texts, texts), min_size=1))
def test_any_string_round_trips_through_lines_of_csv(rows):
    dialect = CsvDialect(null="\\N")
    batch = pa.record_batch(
        {"a": pa.array([a for a, _ in rows], pa.string()), "b": [b for _, b in rows]}
    )
    lines = csv_lines(batch.cast(pa.schema([("a", pa.string()), ("b", pa.string())])), dialect)
    text = "\n".join(lines.to_pylist()) + "\n"
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [["\\N" if value is None else value for value in row] for row in rows]


def test_numbers_and_times_are_written_to_csv_as_the_sink_documents_it():
    at = datetime(2026, 1, 15, 10, tzinfo=UTC)
    batch = pa.record_batch(
        {
            "real": pa.array([1.5, -0.0, 1e20, float("nan"), float("-inf"), None]),
            "at": pa.array([at] * 6, pa.timestamp("us", "UTC")),
            "text": ["", " x", "a,b", 'a"b', "plain", None],
        }
    )
    assert csv_lines(batch, CsvDialect()).to_pylist() == [
        '1.5,2026-01-15T10:00:00.000000Z,""',
        '-0.0,2026-01-15T10:00:00.000000Z," x"',
        '1.0E20,2026-01-15T10:00:00.000000Z,"a,b"',
        'NaN,2026-01-15T10:00:00.000000Z,"a""b"',
        "-Infinity,2026-01-15T10:00:00.000000Z,plain",
        ",2026-01-15T10:00:00.000000Z,",
    ]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm:ss", "2026-01-15 10:20:30"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "2026-01-15T10:20:30.000007Z"),
        ("HH:mm:ss.SSS", "10:20:30.000"),
        ("dd.MM.yyyy 'at' HH''mm", "15.01.2026 at 10'20"),
    ],
)
def test_timestamp_formats_of_spark_are_followed(pattern, text):
    at = datetime(2026, 1, 15, 10, 20, 30, 7, tzinfo=UTC)
    assert plain_text(pa.array([at], pa.timestamp("us", "UTC")), pattern).to_pylist() == [text]


@pytest.mark.parametrize("pattern", ["EEEE", "yyyy-MM-dd HH:mm:ss.SS", "h:mm a"])
def test_a_timestamp_format_that_executors_cannot_write_is_rejected(pattern):
    with pytest.raises(PlanError) as caught:
        strftime_format(pattern)
    assert caught.value.code == "MS-PLAN-TIMESTAMP-FORMAT"
    assert f"'timestamp.format' = '{pattern}' is not supported" in str(caught.value)
