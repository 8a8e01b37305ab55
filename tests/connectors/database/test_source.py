"""Sources and lookups of any database read the rows of a table with their types."""

from __future__ import annotations

import datetime as dt
import json
from itertools import chain
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from tests.connectors.database.tables import sink_on
from tests.connectors.sink_batches import batch_id, rows_of, write

from millstream.connectors.database.range_source import RangeSettings
from millstream.connectors.database.source import DatabaseRows, _incremental_column
from millstream.connectors.database.target import Target
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import check, open_store, read_whole
from millstream.connectors.lookup.types import family
from millstream.errors import RunError
from millstream.plan.nodes import Source
from millstream.values import Condition

LIMIT = ReadMaxRows(0)
TIME = dt.datetime(2026, 1, 15, 10, 0, 0, 7, dt.UTC)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("usr", pa.string()),
        ("day", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("flag", pa.bool_()),
        ("price", pa.decimal128(10, 2)),
    ]
)


def fill(database, *numbers: int, batch: int = 0) -> None:
    rows = [
        (n, f"u{n}", dt.date(2026, 1, n), TIME + dt.timedelta(seconds=n), n % 2 == 0, n)
        for n in numbers
    ]
    write(sink_on(database, SCHEMA), batch_id(batch), [[rows_of(rows, SCHEMA)]])


def target(database) -> Target:
    options = {"url": database.url, "table": "RESULTS", **database.options}
    return Target.of("source s", Source("s", (), options=tuple(options.items())), Path())


def batches(database, column: str, limit: int = 1000, start=None):
    kind = family(SCHEMA.field(column).type) if column else "other"
    settings = RangeSettings.decoded(RangeSettings(target(database), column, kind, limit).encoded())
    stream = settings.stream
    rows = DatabaseRows(settings, tuple((name.upper(), name) for name in SCHEMA.names))
    offset = start or stream.initialOffset()
    found: list[list[int]] = []
    while True:
        stream._looked = -1.0
        end = stream.latestOffset(offset, LIMIT)
        if end == offset:
            return found, offset
        items = [task.item for task in stream.partitions(offset, end)]
        read = [b["ID"].to_pylist() for i in items for b in rows.read(i, {"ID": pa.int64()})]
        found.append(sorted(chain(*read)))
        offset = json.loads(json.dumps(end))


@pytest.mark.parametrize("column", ["id", "usr", "day", "t"])
def test_rows_with_greater_values_are_read_in_limited_batches(database, column):
    fill(database, 3, 1, 2, 5)
    found, offset = batches(database, column, limit=2)
    assert found == [[1, 2], [3, 5]]
    fill(database, 6, 4, batch=1)  # 4 is not greater than the last value
    assert batches(database, column, start=offset)[0] == [[6]]


def test_a_snapshot_has_all_rows_once_with_their_types(database):
    fill(database, 2, 1)
    found, offset = batches(database, "")
    assert found == [[1, 2]]
    assert batches(database, "", start=offset)[0] == []
    rows = DatabaseRows(
        RangeSettings(target(database), "", "other", 10), tuple((n, n) for n in SCHEMA.names)
    )
    wanted = {field.name: field.type for field in SCHEMA}
    (batch,) = rows.read("[null, null]", wanted)
    assert batch.select(SCHEMA.names).schema.types == SCHEMA.types
    first = min(batch.to_pylist(), key=lambda row: row["id"])
    assert first["t"] == TIME + dt.timedelta(seconds=1)
    assert (first["day"], first["flag"]) == (dt.date(2026, 1, 1), False)
    (empty,) = rows.read("[null, null]", {})
    assert empty.num_rows == 2
    with pytest.raises(RunError, match=r"MS-RUN-DATABASE-VALUE.*cannot be read as BIGINT"):
        list(rows.read("[null, null]", {"usr": pa.int64()}))


def test_a_bounded_run_ends_with_the_rows_at_its_start(database):
    fill(database, 1, 2)
    stream = RangeSettings(target(database), "id", "whole", 10).stream
    stream.prepareForTriggerAvailableNow()
    fill(database, 3, batch=1)
    assert stream.latestOffset(stream.initialOffset(), LIMIT) == {"last": 2}


def test_columns_without_an_order_are_no_incremental_columns(database):
    fill(database, 1)
    names = {name: name for name in SCHEMA.names}
    types = {field.name: field.type for field in SCHEMA}
    for column, cause in (("flag", "cannot be a BOOLEAN"), ("none", "is not a declared column")):
        options = (("mode", "incremental"), ("incremental.column", column))
        source = Source("s", (), options=options)
        with pytest.raises(RunError, match=f"MS-RUN-DATABASE-TABLE.*{cause}"):
            _incremental_column(source, target(database), types, names)


def test_rows_are_looked_up_by_their_keys(database):
    fill(database, 1, 2, 3)
    options = {"url": database.url, "table": "results", **database.options}
    conditions = (Condition("id", "<", (3,)), Condition("usr", "not null"))
    given = tuple(options.items())
    store_name = "millstream.connectors.database.store:open_store"
    spec = LookupSpec(
        "c",
        "database",
        given,
        ("usr",),
        ("ID", "usr", "flag"),
        pa.schema([("ID", pa.int64()), *list(SCHEMA)[1:]]),
        conditions,
        store=store_name,
    )
    check(spec)
    found = open_store(spec).fetch(pl.DataFrame({"usr": ["u1", "u3", "none"]}))
    assert found.to_dicts() == [{"usr": "u1", "ID": 1, "flag": False}]
    pairs = LookupSpec("c", "database", given, ("id", "usr"), ("id", "t"), SCHEMA, store=store_name)
    keys = pl.DataFrame({"id": [1, 2, 3], "usr": ["u1", "u1", "u3"]})
    assert sorted(open_store(pairs).fetch(keys)["id"].to_list()) == [1, 3]
    assert read_whole(pairs, 2).num_rows == 2
    database.run("CREATE VIEW second AS SELECT * FROM results WHERE id = 2")
    of_view = tuple((options | {"table": "second"}).items())
    view = LookupSpec("c", "database", of_view, ("id",), ("usr",), SCHEMA, store=store_name)
    assert read_whole(view, 5).to_pylist() == [{"id": 2, "usr": "u2"}]
    wrong = LookupSpec(
        "c",
        "database",
        given,
        ("nope",),
        ("id",),
        pa.schema([("nope", pa.int64()), *SCHEMA]),
        store=store_name,
    )
    with pytest.raises(RunError, match="MS-LOOKUP-TABLE"):
        check(wrong)
