"""Statistics of data files are exact, or missing where readers could disagree."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connectors.delta.sinks import sink_on
from tests.connectors.sink_batches import batch_id, rows_of, write

from millstream.connectors.lake.statistics import file_statistics

SCHEMA = pa.schema(
    [("n", pa.int64()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("t", pa.string())]
)
times = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.UTC))  # noqa: DTZ001
rows = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.dates(),
    st.none() | times,
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)


def statistics(table: pa.Table, rows_per_group: int = 3) -> dict[str, Any]:
    sink = pa.BufferOutputStream()
    collected: list[pq.FileMetaData] = []
    with pq.ParquetWriter(sink, table.schema, metadata_collector=collected) as writer:
        writer.write_table(table, row_group_size=rows_per_group)
    found: dict[str, Any] = json.loads(file_statistics(collected[0]))
    return found


@settings(deadline=None, max_examples=60)
@given(st.lists(rows, max_size=9))
def test_minimum_maximum_and_nulls_are_those_of_the_values(values):
    found = statistics(pa.Table.from_batches([rows_of(values, SCHEMA)]))
    assert found["numRecords"] == len(values)
    for number, name in enumerate(SCHEMA.names):
        column = [row[number] for row in values]
        known = [value for value in column if value is not None]
        if values:
            assert found["nullCount"][name] == len(column) - len(known)
        # Texts are ordered by their UTF-8 bytes.
        order = (lambda text: text.encode()) if name == "t" else None
        low, high = (f(known, key=order) if known else None for f in (min, max))
        assert decoded(name, found["minValues"].get(name)) == low
        assert decoded(name, found["maxValues"].get(name)) == high


def decoded(name, value):
    if value is None or name in ("n", "t"):
        return value
    return dt.date.fromisoformat(value) if name == "day" else dt.datetime.fromisoformat(value)


def test_floats_nested_and_long_values_have_no_range():
    table = pa.table(
        {
            "f": [1.0, float("nan")],
            "long": ["x" * 100, "y"],
            "flag": [True, False],
            "list": [[1], [2]],
            "local": pa.array([1, 2], pa.timestamp("us")),
        }
    )
    found = statistics(table)
    assert found["minValues"] == found["maxValues"] == {}
    assert found["nullCount"] == {"f": 0, "long": 0, "flag": 0, "local": 0}


def test_deltalake_reads_them(tmp_path):
    sink = sink_on(tmp_path / "t", SCHEMA)
    time = dt.datetime(2026, 1, 15, 10, 30, 1, 7, dt.UTC)
    values = [(1, dt.date(2026, 1, 15), time, "a"), (5, None, None, "b")]
    write(sink, batch_id(0), [[rows_of(values, SCHEMA)]])
    (found,) = pa.table(DeltaTable(str(tmp_path / "t")).get_add_actions()).to_pylist()
    assert found["num_records"] == 2
    assert found["min"] == {"n": 1, "day": values[0][1], "at": time, "t": "a"}
    assert found["max"] == {"n": 5, "day": values[0][1], "at": time, "t": "b"}
    assert found["null_count"] == {"n": 0, "day": 1, "at": 1, "t": 0}
