"""Files that do not fit the dataset, or that Spark would read differently, are rejected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.catalog.publishing.samples import (
    CSV,
    FX,
    JSON,
    RATES,
    rejected,
    write_csv,
    write_parquet,
)

from millstream.catalog.model import Column, Table, TemporalMode
from millstream.catalog.publishing.prepare import prepare
from millstream.errors import CatalogError


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("currency,rat\nEUR,1\n", "MS-CATALOG-COLUMNS", "has no column rate, which fx declares"),
        ("currency,rate\nEUR,x\n", "MS-CATALOG-ROWS", "column rate: 'x' is not a DECIMAL(18,6)"),
        ("currency,rate\nEUR\n", "MS-CATALOG-ROWS", "line 2"),
        ("currency,rate,Rate\nEUR,1,1\n", "MS-CATALOG-COLUMNS", "the column rate more than once"),
        ("", "MS-CATALOG-COLUMNS", "is empty and has no header"),
    ],
)
def test_csv_that_does_not_fit_is_rejected_with_its_place(tmp_path, text, code, words):
    error = rejected(write_csv(tmp_path, text))
    assert error.code == code
    assert words in error.cause
    assert "fx.csv" in error.cause
    assert error.fix


def test_a_missing_column_suggests_the_nearest_name(tmp_path: Path):
    assert rejected(write_csv(tmp_path, "currency,rat\nEUR,1\n")).fix == "Did you mean rat?"


@pytest.mark.parametrize(
    ("kind", "value", "accepted"),
    [
        ("decimal(18,6)", " 1.08 ", False),
        ("decimal(18,6)", "\t1.08", False),
        ("decimal(18,6)", "+1.5e2", True),
        ("int", " 1", False),
        ("int", "0x1F", False),
        ("int", "-1", True),
        ("int", "", True),
        ("boolean", "true ", False),
        ("boolean", "True", True),
        ("double", " 1.5 ", True),
        ("double", "-.5", True),
        ("double", "inf", False),
        ("double", "nan", False),
        ("double", "-Inf", True),
        ("double", "-Infinity", True),
        ("double", "NaN", True),
        ("string", " 1.08 ", True),
        ("date", " 2026-01-01 ", True),
    ],
)
def test_values_of_csv_that_spark_does_not_read_are_rejected(tmp_path, kind, value, accepted):
    """`test_values_of_csv_that_can_be_published_are_read` reads those that are accepted."""
    dataset = replace(FX, table=Table("t", (Column("a", "string"), Column("b", kind))))
    path = write_csv(tmp_path, f"a,b\nx,\ny,{value}\n")
    if accepted:
        assert prepare(dataset, str(path))[0].row_count == 2
    else:
        error = rejected(path, dataset)
        assert error.code == "MS-CATALOG-ROWS"
        assert f"{value!r} is not a" in error.cause


def test_a_value_that_spark_does_not_read_is_shown_with_its_record(tmp_path: Path):
    error = rejected(write_csv(tmp_path, CSV + "CHF, 1.1\n"))
    assert "fx.csv, record 3: column rate: ' 1.1' is not a DECIMAL(18,6)" in error.cause
    assert "without spaces" in error.fix


@pytest.mark.parametrize(
    ("given", "recorded"),
    [("latin-1", "iso-8859-1"), ("UTF8", "utf-8"), ("ascii", "us-ascii"), ("L1", "iso-8859-1")],
)
def test_encodings_are_recorded_by_the_names_of_spark(tmp_path: Path, given, recorded):
    content, _ = prepare(FX, str(write_csv(tmp_path)), options={"encoding": given})
    assert content.options["encoding"] == recorded


def test_json_that_does_not_fit_is_rejected_with_its_line(tmp_path: Path):
    error = rejected(write_csv(tmp_path, JSON + "{not json\n", "fx.json"))
    assert error.code == "MS-CATALOG-ROWS"
    assert "line 3" in error.cause


@pytest.mark.parametrize(
    ("record", "cause", "fix"),
    [
        ('{"currency":"CHF","rte":1}', "line 3: the key rte is not a column", "mean rate?"),
        ('{"CURRENCY":"CHF","rate":1}', "line 3: the key CURRENCY is not a col", "mean currency?"),
        ('{"RATE":1}', "line 3: the key RATE is not a column of fx.", "mean rate?"),
    ],
)
def test_an_unknown_key_of_json_is_rejected_as_spark_would_ignore_it(tmp_path, record, cause, fix):
    error = rejected(write_csv(tmp_path, f"{JSON}{record}\n", "fx.json"))
    assert error.code == "MS-CATALOG-COLUMNS"
    assert f"fx.json, {cause}" in error.cause
    assert error.fix.endswith(fix)


def test_an_unknown_key_inside_of_a_value_is_rejected(tmp_path: Path):
    kinds = {"legs": "array<struct<rate:int>>", "tags": "map<string,struct<n:int>>"}
    table = Table("t", tuple(Column(name, kind) for name, kind in kinds.items()))
    good = '{"legs":[{"rate":1},null],"tags":{"any":{"n":1}}}\n'
    dataset = replace(FX, table=table)
    assert prepare(dataset, str(write_csv(tmp_path, good, "a.json")))[0].row_count == 1
    for name, words in (("rate", "legs.rat is not"), ("n", "tags.any.N is not")):
        wrong = good.replace(f'"{name}"', '"rat"' if name == "rate" else '"N"')
        error = rejected(write_csv(tmp_path, good * 2 + wrong, "b.json"), dataset)
        assert f"line 3: the key {words} a column" in error.cause
        assert error.fix == f"Did you mean {name}?"


def test_a_column_that_no_json_record_has_is_rejected(tmp_path: Path):
    write_csv(tmp_path, '{"currency":"EUR"}\n', "v/a.json")
    error = rejected(tmp_path / "v")
    assert error.code == "MS-CATALOG-COLUMNS"
    assert "/v has the key rate, which fx declares." in error.cause
    assert "with null if there is no value" in error.fix
    write_csv(tmp_path, '\ufeff{"currency":"GBP","rate":null}\n', "v/b.json")
    assert prepare(FX, str(tmp_path / "v"))[0].row_count == 2


def test_a_decimal_of_json_with_spaces_is_rejected_as_spark_does(tmp_path: Path):
    error = rejected(write_csv(tmp_path, JSON.replace('"1.08"', '" 1.08"'), "fx.json"))
    assert error.code == "MS-CATALOG-ROWS"
    assert "line 1: column rate: ' 1.08' is not a DECIMAL(18,6)" in error.cause


def test_a_folder_may_give_the_value_of_a_column_of_json(tmp_path: Path):
    write_csv(tmp_path, '{"rate":1.5}\n', "v/currency=EUR/a.json")
    assert prepare(FX, str(tmp_path / "v"))[0].row_count == 1


def test_the_line_of_an_unknown_key_is_right_in_a_large_file(tmp_path: Path):
    many = JSON.splitlines()[0] + "\n"
    lines = (5 << 20) // len(many)  # more than one block
    error = rejected(write_csv(tmp_path, many * lines + '{"rte":1}\n', "fx.json"))
    assert f"line {lines + 1}: the key rte" in error.cause


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (pa.float64(), "the column rate of .* is double; fx declares decimal"),
        (pa.int64(), "is bigint; fx declares"),
    ],
)
def test_parquet_of_other_types_is_rejected(tmp_path: Path, rate, words):
    path = write_parquet(tmp_path / "fx.parquet", rate)
    with pytest.raises(CatalogError, match=words) as error:
        prepare(FX, str(path))
    assert error.value.code == "MS-CATALOG-COLUMNS"


def test_parquet_that_spark_cannot_read_is_rejected(tmp_path: Path):
    path = write_parquet(tmp_path / "fx.parquet", t=pa.array([1, 2], pa.timestamp("ns")))
    error = rejected(path)
    assert error.code == "MS-CATALOG-COLUMNS"
    assert "the column t of" in error.cause
    assert "timestamp[us]" in error.fix


def test_files_with_different_columns_are_rejected(tmp_path: Path):
    write_parquet(tmp_path / "v" / "a.parquet")
    write_parquet(tmp_path / "v" / "b.parquet", extra=pa.array([1, 2]))
    error = rejected(tmp_path / "v")
    assert error.code == "MS-CATALOG-COLUMNS"
    assert "extra (bigint); those of" in error.cause


def test_a_damaged_parquet_file_is_rejected(tmp_path: Path):
    path = write_parquet(tmp_path / "fx.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    error = rejected(path)
    assert error.code == "MS-CATALOG-ROWS"
    assert "is not a whole Parquet file" in error.cause


def test_the_columns_of_the_temporal_mode_must_be_there(tmp_path: Path):
    monthly = replace(FX, table=Table("rates", RATES, TemporalMode.PERIOD))
    assert "has no column _period" in rejected(write_csv(tmp_path), monthly).cause
    content, _ = prepare(
        monthly, str(write_csv(tmp_path, "currency,rate,_period\nEUR,1.08,2026-01\n"))
    )
    assert content.schema == (*RATES, Column("_period", "string"))
