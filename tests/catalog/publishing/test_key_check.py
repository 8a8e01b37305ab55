"""The key of a table identifies its rows, compared with an oracle, in all formats of files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.catalog.model import Column, Dataset, Table, TemporalMode
from millstream.catalog.publishing.key_check import KeyCheck
from millstream.catalog.publishing.prepare import prepare
from millstream.catalog.types import arrow_type
from millstream.errors import CatalogError

COLUMNS = (Column("code", "string"), Column("region", "int"), Column("rate", "double"))
FIRST = date(2026, 1, 1)
FORMATS = ["csv", "json", "parquet"]

Row = dict[str, Any]
days = st.integers(0, 6).map(lambda days: FIRST + timedelta(days=days))
keys = {"code": st.sampled_from(["a", "b", None]), "region": st.sampled_from([1, None])}
plain_rows = st.lists(st.fixed_dictionaries(keys), max_size=6)
period_rows = st.lists(
    st.fixed_dictionaries({**keys, "_period": st.sampled_from(["2026-01", "2026-02", None])}),
    max_size=6,
)
bitemporal_rows = st.lists(
    st.fixed_dictionaries(
        {**keys, "_period_from": st.none() | days, "_period_to": st.none() | days}
    ),
    max_size=6,
)


def table(mode: TemporalMode) -> Table:
    return Table("rates", COLUMNS, mode, ("code", "region"))


def batch_of(rows: Iterable[Row], columns: Iterable[Column]) -> pa.RecordBatch:
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)


def conflicting_keys(mode: TemporalMode, rows: list[Row], limit: int) -> int:
    """The number of keys with conflicts, which the check finds."""
    used = (*COLUMNS[:2], *mode.columns)
    with KeyCheck(table(mode), limit) as check:
        check.start_file("a.csv")
        for row in rows:
            check.add(batch_of([row], used))
        found = check.duplicates()
    return 0 if found is None else found.keys


def days_of(row: Row) -> set[date]:
    """The days on which a row is valid, up to a day after all ends."""
    all_days = [FIRST + timedelta(days=number) for number in range(8)]
    start, end = row["_period_from"], row["_period_to"]
    return {day for day in all_days if start and start <= day and (end is None or day < end)}


@pytest.mark.parametrize("limit", [1, 3, 100])
@given(rows=plain_rows)
@settings(max_examples=60, deadline=None)
def test_keys_without_a_temporal_mode_are_unique(limit: int, rows: list[Row]):
    keys = [(row["code"], row["region"]) for row in rows]
    repeated = {key for key in keys if keys.count(key) > 1}
    assert conflicting_keys(TemporalMode.NONE, rows, limit) == len(repeated)


@pytest.mark.parametrize("limit", [2, 100])
@given(rows=period_rows)
@settings(max_examples=60, deadline=None)
def test_keys_are_unique_in_each_period(limit: int, rows: list[Row]):
    keys = [(row["code"], row["region"], row["_period"]) for row in rows]
    repeated = {key for key in keys if keys.count(key) > 1}
    assert conflicting_keys(TemporalMode.PERIOD, rows, limit) == len(repeated)


@pytest.mark.parametrize("limit", [2, 100])
@given(rows=bitemporal_rows)
@settings(max_examples=150, deadline=None)
def test_intervals_of_a_key_have_no_day_in_common(limit: int, rows: list[Row]):
    overlapping = {
        (one["code"], one["region"])
        for number, one in enumerate(rows)
        for other in rows[:number]
        if (one["code"], one["region"]) == (other["code"], other["region"])
        and days_of(one) & days_of(other)
    }
    assert conflicting_keys(TemporalMode.BITEMPORAL, rows, limit) == len(overlapping)


def write(path: Path, form: str, mode: TemporalMode, rows: list[Row]) -> Path:
    columns = (*COLUMNS, *mode.columns)
    path = path / f"rates.{form}"
    rows = [{"rate": 1.5, **row} for row in rows]
    if form == "parquet":
        pq.write_table(pa.Table.from_batches([batch_of(rows, columns)]), path)
    elif form == "csv":
        names = [column.name for column in columns]
        lines = [",".join(names)]
        lines += [
            ",".join("" if row[name] is None else str(row[name]) for name in names) for row in rows
        ]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
    return path


def rejected(path: Path, mode: TemporalMode) -> CatalogError:
    with pytest.raises(CatalogError) as error:
        prepare(Dataset(uuid4(), "fx", table(mode)), str(path))
    assert error.value.code == "MS-CATALOG-KEY-DUPLICATE"
    return error.value


@pytest.mark.parametrize("form", FORMATS)
def test_duplicate_keys_are_shown_with_their_rows(tmp_path: Path, form: str):
    rows = [{"code": code, "region": 1} for code in ("a", "b", "a", "c", "d", "e", "a")]
    rows += [
        {"code": code, "region": region}
        for code, region in (("b", 1), ("b", 2), ("c", 1), ("d", 1))
    ]
    path = write(tmp_path, form, TemporalMode.NONE, rows)
    error = rejected(path, TemporalMode.NONE)
    assert error.cause == (
        "fx: rows have the same key (code, region):"
        f"\n  code = 'a', region = 1: row 1 and row 3 of {path}"
        f"\n  code = 'b', region = 1: row 2 and row 8 of {path}"
        f"\n  code = 'c', region = 1: row 4 and row 10 of {path}"
        "\n  and 1 more"
    )
    assert error.fix == "Remove the duplicates, or add a column to the key."


@pytest.mark.parametrize("form", FORMATS)
def test_a_key_may_repeat_in_another_period(tmp_path: Path, form: str):
    rows = [{"code": "a", "region": 1, "_period": period} for period in ("2026-01", "2026-02")]
    path = write(tmp_path, form, TemporalMode.PERIOD, rows)
    content, _ = prepare(Dataset(uuid4(), "fx", table(TemporalMode.PERIOD)), str(path))
    assert (content.row_count, content.key) == (2, ("code", "region"))
    write(tmp_path, form, TemporalMode.PERIOD, [*rows, rows[0]])
    error = rejected(path, TemporalMode.PERIOD)
    assert "rows have the same key (code, region) in one period:" in error.cause
    assert "code = 'a', region = 1, _period = '2026-01': row 1 and row 3 of" in error.cause


def interval(start: str, end: str | None) -> Row:
    ends = [None if day is None else date.fromisoformat(day) for day in (start, end)]
    return {"code": "a", "region": 1, "_period_from": ends[0], "_period_to": ends[1]}


@pytest.mark.parametrize("form", FORMATS)
def test_intervals_may_touch_and_must_not_overlap(tmp_path: Path, form: str):
    mode = TemporalMode.BITEMPORAL
    rows = [
        interval("2026-02-01", None),
        interval("2026-01-01", "2026-02-01"),
        interval("2026-01-10", "2026-01-10"),
    ]
    path = write(tmp_path, form, mode, rows)
    assert prepare(Dataset(uuid4(), "fx", table(mode)), str(path))[0].row_count == 3
    write(tmp_path, form, mode, [*rows, interval("2026-03-01", "2026-04-01")])
    error = rejected(path, mode)
    assert error.cause == (
        "fx: intervals [_period_from, _period_to) of the same key (code, region) overlap:"
        "\n  code = 'a', region = 1: [2026-02-01, open) in row 1 and [2026-03-01, 2026-04-01) "
        f"in row 4 of {path}"
    )


@pytest.mark.parametrize("form", FORMATS)
def test_rows_of_two_files_are_shown_with_both(tmp_path: Path, form: str):
    for name in ("one", "two"):
        (tmp_path / "v" / name).mkdir(parents=True)
        write(tmp_path / "v" / name, form, TemporalMode.NONE, [{"code": "a", "region": None}])
    error = rejected(tmp_path / "v", TemporalMode.NONE)
    one, two = (tmp_path / "v" / name / f"rates.{form}" for name in ("one", "two"))
    assert f"code = 'a', region = NULL: row 1 of {one} and row 1 of {two}" in error.cause


def test_parquet_columns_may_differ_in_letter_case_and_physical_type(tmp_path: Path):
    path = tmp_path / "a.parquet"
    codes = pa.array(["a", "b", "a"]).dictionary_encode()
    regions = pa.array([1, 1, 1], pa.uint16())
    pq.write_table(pa.table({"CODE": codes, "region": regions, "rate": [1.0, 2.0, 3.0]}), path)
    assert "row 1 and row 3" in rejected(path, TemporalMode.NONE).cause


def test_temporary_files_are_deleted(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = [{"code": str(number % 7), "region": 1} for number in range(20)]
    assert conflicting_keys(TemporalMode.NONE, rows, 4) == 7
    assert list(tmp_path.iterdir()) == []
