"""Parquet files: values that are exact are read, others and files that do not fit are rejected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from millstream.connectors.dead_letters import BAD, Rejection
from millstream.connectors.file.parquet_files import ParquetFiles
from millstream.connectors.file.values import Column

TIME = pa.timestamp("us", "UTC")


def read(
    path: Path, columns: Mapping[str, pa.DataType], *, base: Path | None = None, parts: int = 1
) -> list[dict[str, Any]]:
    declared = tuple(Column(name, kind, str(kind).upper()) for name, kind in columns.items())
    files = ParquetFiles(str(base or path.parent), declared)
    rows = [
        row
        for part in range(parts)
        for batch in files.read(f"file:{path}", columns, part, parts)
        for row in batch.to_pylist()
    ]
    return [{**row, BAD: row[BAD] and Rejection.decode(row[BAD])} for row in rows]


def written(folder: Path, table: pa.Table, **options: Any) -> Path:
    path = folder / "x.parquet"
    pq.write_table(table, path, **options)
    return path


def test_times_in_nanoseconds_are_read_if_they_are_whole_microseconds(tmp_path):
    times = pd.to_datetime(["2026-01-01 00:00:00.123456", None, "2026-01-01 00:00:00.123456789"])
    path = tmp_path / "pandas.parquet"
    pd.DataFrame({"t": times, "n": [1, 2, 3]}).to_parquet(path)
    assert pq.read_schema(path).field("t").type == pa.timestamp("ns")
    first, second, third = read(path, {"t": TIME, "n": pa.int64()})
    assert first == {"t": datetime(2026, 1, 1, 0, 0, 0, 123456, UTC), "n": 1, BAD: None}
    assert second == {"t": None, "n": 2, BAD: None}
    assert third == {
        "t": None,
        "n": None,
        BAD: Rejection(
            "malformed",
            "row 3: column t: '2026-01-01 00:00:00.123456789' is not a TIMESTAMP[US, TZ=UTC]: "
            "times are whole microseconds of the years 1 to 9999.",
            '{"t": "2026-01-01 00:00:00.123456789", "n": "3"}',
            "t",
            "2026-01-01 00:00:00.123456789",
            str(path),
        ),
    }


def test_a_time_after_the_year_9999_is_malformed(tmp_path):
    times = pa.array([0, 253_402_300_800_000_000], pa.timestamp("us", "UTC"))
    rows = read(written(tmp_path, pa.table({"t": times})), {"t": TIME})
    assert [row["t"] for row in rows] == [datetime(1970, 1, 1, tzinfo=UTC), None]
    assert rows[1][BAD].column == "t"


def test_a_file_with_another_schema_is_rejected_as_a_whole(tmp_path):
    path = written(tmp_path, pa.table({"a": ["x"], "n": [1]}))
    (row,) = read(path, {"a": pa.int64(), "n": pa.int64()})
    assert row[BAD] == Rejection(
        "unreadable_file",
        "the file cannot be read: its column a is string, which cannot be read as INT64. The "
        "file's columns are a (string), n (int64).",
        file=str(path),
    )
    (row,) = read(path, {"other": pa.int64()})
    assert row[BAD].message == (
        "the file cannot be read: it has none of the declared columns. The file's columns are "
        "a (string), n (int64); the declared columns are other."
    )


def test_a_file_that_is_truncated_is_rejected_as_a_whole(tmp_path):
    path = written(tmp_path, pa.table({"a": list(range(1000))}))
    path.write_bytes(path.read_bytes()[:-50])
    (row,) = read(path, {"a": pa.int64()}, parts=3)
    assert row[BAD].reason == "unreadable_file"
    assert row[BAD].message.startswith("the file cannot be read: it is not a whole Parquet file: ")


def test_of_a_damaged_row_group_no_row_is_read_and_others_are(tmp_path):
    table = pa.table({"a": [f"{number:05d}" for number in range(3000)]})
    path = written(tmp_path, table, row_group_size=1000, use_dictionary=False, compression="gzip")
    chunk = pq.read_metadata(path).row_group(1).column(0)
    data = bytearray(path.read_bytes())
    begin = chunk.data_page_offset + chunk.total_compressed_size // 2
    data[begin : begin + 40] = b"\0" * 40
    path.write_bytes(bytes(data))
    for parts in (1, 2, 5):
        rows = read(path, {"a": pa.string()}, parts=parts)
        assert [row["a"] for row in rows if row[BAD] is None] == [
            f"{number:05d}" for number in range(3000) if not 1000 <= number < 2000
        ]
        (rejection,) = (row[BAD] for row in rows if row[BAD])
        assert rejection.reason == "unreadable_file"
        assert "its rows 1001 to 2000 cannot be decoded" in rejection.message


def test_nested_columns_missing_columns_and_values_of_folders(tmp_path):
    kind = pa.struct([("b", pa.int64()), ("a", pa.list_(pa.int64())), ("c", pa.string())])
    table = pa.table(
        {
            "s": pa.array([{"A": [1, None], "b": 2}, None, {"A": None, "b": 3}],
                          pa.struct([("A", pa.list_(pa.int32())), ("b", pa.int32())])),
            "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        }
    )  # fmt: skip
    folder = tmp_path / "day=2026-01-02"
    folder.mkdir()
    columns = {"s": kind, "m": pa.map_(pa.string(), pa.int64()), "day": pa.date32()}
    rows = read(written(folder, table), {**columns, "none": pa.string()}, base=tmp_path)
    assert [row["s"] for row in rows] == [
        {"b": 2, "a": [1, None], "c": None},
        None,
        {"b": 3, "a": None, "c": None},
    ]
    assert [row["m"] for row in rows] == [[("k", 1)], None, []]
    assert {str(row["day"]) for row in rows} == {"2026-01-02"}
    assert {row["none"] for row in rows} == {None}


def test_a_wider_decimal_is_read(tmp_path):
    path = written(tmp_path, pa.table({"d": [Decimal("1.5")]}))
    assert read(path, {"d": pa.decimal128(10, 2)})[0]["d"] == Decimal("1.50")


def test_a_value_inside_of_a_list_that_is_not_exact_makes_its_row_malformed(tmp_path):
    times = pa.array([[1000], [1000, 1]], pa.list_(pa.timestamp("ns", "UTC")))
    rows = read(written(tmp_path, pa.table({"t": times})), {"t": pa.list_(TIME)})
    assert [row[BAD] is None for row in rows] == [True, False]
