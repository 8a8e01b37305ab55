"""The Iceberg sink appends each batch once; other tables than it can write are rejected."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.transforms import DayTransform
from tests.connectors.iceberg.tables import SETTINGS, catalog, sink_on, table_rows
from tests.connectors.sink_batches import batch_id, rows_of, write

from millstream.connectors.iceberg.opening import open_sink
from millstream.connectors.sink import TaskId
from millstream.errors import MillstreamError, RunError
from millstream.plan.nodes import SinkDef

ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])
CHANGES = pa.schema([*ROWS, ("_OP", pa.string())])
texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8, deadline=None
)
@given(rows=st.lists(st.tuples(st.none() | st.integers(-5, 5), texts), max_size=8), by=...)
def test_appended_rows_are_read_back_unchanged(tmp_path, rows: list[tuple[int, str]], by: bool):
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    sink = sink_on(tmp_path, ROWS, **({"partition_by": "NOTE"} if by else {}))
    write(sink, batch_id(0), [[rows_of(rows[:3], ROWS)], [rows_of(rows[3:], ROWS)]])
    assert Counter(table_rows(tmp_path)) == Counter(rows)


def test_every_type_is_read_back_unchanged(tmp_path):
    time = dt.datetime(2026, 1, 15, 10, 30, 1, 7, dt.UTC)
    values = {
        "Flag": (pa.bool_(), [True, None]),
        "small": (pa.int16(), [-32768, None]),
        "large": (pa.int64(), [-(2**63), None]),
        "real": (pa.float32(), [1.5, float("inf")]),
        "exact": (pa.decimal128(20, 4), [Decimal("-1234567890123456.7890"), None]),
        "odd `name`, %s": (pa.string(), ["", None]),
        "bytes": (pa.binary(), [b"\x00\xff", b""]),
        "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        "local": (pa.timestamp("us"), [time.replace(tzinfo=None), None]),
        "instant": (pa.timestamp("us", "Europe/Berlin"), [time, None]),
        "list": (pa.list_(pa.int32()), [[1, None], None]),
        "struct": (pa.struct([("a", pa.timestamp("us", "Europe/Berlin"))]), [{"a": time}, None]),
        "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], None]),
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in values.items()])
    arrays = [pa.array(items, kind) for kind, items in values.values()]
    rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
    write(sink_on(tmp_path, schema), batch_id(0), [[rows]])
    assert table_rows(tmp_path) == list(zip(*(items for _, items in values.values()), strict=True))


def test_a_repeated_batch_is_not_written_again(tmp_path):
    for _ in range(3):  # each is a new run, after a kill before Spark's commit
        sink = sink_on(tmp_path, ROWS)
        write(sink, batch_id(0), [[rows_of([(1, "a"), (2, "b")], ROWS)]])
    write(sink, batch_id(1), [[rows_of([(3, "c")], ROWS)]])
    write(sink, batch_id(2), [[rows_of([], ROWS)]])
    assert sorted(table_rows(tmp_path)) == [(1, "a"), (2, "b"), (3, "c")]
    snapshots = catalog(tmp_path).load_table("db.t").snapshots()
    numbers = [each.summary["millstream.batch"] for each in snapshots]  # type: ignore[index]
    assert numbers == ["0", "1"]
    again = sink_on(tmp_path, ROWS)
    write(again, batch_id(0, "another checkpoint"), [[rows_of([(1, "a")], ROWS)]])
    assert Counter(table_rows(tmp_path))[1, "a"] == 2


def test_other_programs_may_write_to_the_table_at_the_same_time(tmp_path):
    sink, other = sink_on(tmp_path, ROWS), sink_on(tmp_path, ROWS)
    rows = [[rows_of([(1, "a")], ROWS)]]
    once = batch_id(0)
    write(sink, once, rows, before_commit=lambda: write(other, batch_id(0, "other"), rows))
    assert len(table_rows(tmp_path)) == 2
    first, second = sink_on(tmp_path, ROWS), sink_on(tmp_path, ROWS)
    write(first, batch_id(1), rows, before_commit=lambda: write(second, batch_id(1), rows))
    assert len(table_rows(tmp_path)) == 3


def test_an_aborted_batch_leaves_no_files(tmp_path):
    sink = sink_on(tmp_path, ROWS)
    opener = sink.begin(batch_id(0))
    writer = opener.open(TaskId(batch_id(0), 0))
    writer.write(rows_of([(1, "a")], ROWS))
    sink.abort(batch_id(0), [writer.close()])
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_changelog_is_appended_with_its_kinds_of_changes(tmp_path):
    sink = sink_on(tmp_path, CHANGES)
    write(sink, batch_id(0), [[rows_of([(1, "a", "+I"), (1, "a", "-D")], CHANGES)]])
    assert table_rows(tmp_path) == [(1, "a", "+I"), (1, "a", "-D")]


def rejection(folder: Path, schema: pa.Schema = ROWS, **options: str) -> MillstreamError:
    with pytest.raises(MillstreamError) as error:
        sink_on(folder, schema, **options)
    assert "\n" not in str(error.value)
    return error.value


def test_tables_that_cannot_store_the_rows_are_rejected(tmp_path):
    error = rejection(tmp_path, create_table="false")
    assert error.code == "MS-RUN-ICEBERG-TABLE"
    assert "the catalog has no table db.t" in error.cause
    sink_on(tmp_path, pa.schema([("id", pa.int32()), ("note", pa.string())]))
    assert "column id of db.t is int32" in rejection(tmp_path).cause
    assert (
        "not by id" in rejection(tmp_path, pa.schema([("id", pa.int8())]), partition_by="id").cause
    )
    catalog(tmp_path).drop_table("db.t")
    sink_on(tmp_path, pa.schema([("id", pa.int64()), ("notes", pa.string())]))
    assert "Did you mean notes?" in rejection(tmp_path).fix
    times = pa.schema([("at", pa.timestamp("us"))])
    sink_on(tmp_path, times, "db.days")
    with catalog(tmp_path).load_table("db.days").update_spec() as spec:
        spec.add_field("at", DayTransform())
    error = rejection(tmp_path, times, table="db.days")
    assert error.code == "MS-RUN-ICEBERG-FEATURE"
    assert "is partitioned by day of at" in error.cause


def test_a_catalog_that_cannot_be_opened_is_an_error_without_a_stack_trace(tmp_path):
    error = rejection(tmp_path, catalog_type="rest", catalog_uri="http://127.0.0.1:1")
    assert error.code == "MS-RUN-ICEBERG-FAILED"
    assert "Connection refused" in error.cause
    error = rejection(tmp_path, catalog_type="none")
    assert error.code == "MS-RUN-ICEBERG-FAILED"
    assert "the catalog default cannot be opened" in error.cause


def test_an_older_checkpoint_than_the_table_is_rejected(tmp_path):
    write(sink_on(tmp_path, ROWS), batch_id(5), [[rows_of([(1, "a")], ROWS)]])
    with pytest.raises(RunError, match="MS-RUN-ICEBERG-MARKER") as error:
        sink_on(tmp_path, ROWS).begin(batch_id(3))
    assert "batches up to 5 of this checkpoint, which is at batch 3" in str(error.value)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    given = SinkDef("out", "iceberg", tuple((SETTINGS | {"table": "db.t"}).items()))
    with pytest.raises(RunError, match="MS-RUN-ICEBERG-DRIVER") as error:
        open_sink(given, Path())
    assert "pip install 'millstream[iceberg]'" in error.value.fix
