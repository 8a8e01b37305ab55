"""Sinks of tables write every batch once if a job ends before or after any call of the protocol."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connectors.database import tables as databases
from tests.connectors.delta import sinks as delta
from tests.connectors.iceberg import tables as iceberg
from tests.connectors.sink_batches import batch_id, rows_of
from tests.connectors.sqlite import sinks as sqlite

from millstream.connectors.sink import Sink, TaskId

ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])
POINTS = ("begun", "written", "committed")  # where an attempt ends
Rows = list[tuple[Any, ...]]


def database_sink(folder: Path, **options: str) -> Sink:
    return databases.sink_on(databases.Database(f"sqlite:///{folder}/x.db"), ROWS, **options)


def database_rows(folder: Path) -> Rows:
    url = f"sqlite:///{folder}/x.db"
    return databases.Database(url, {}, sa.create_engine(url)).rows()


# How a sink is opened and its table read; whether a row replaces the one with the same id.
KINDS: dict[str, tuple[Callable[[Path], Sink], Callable[[Path], Rows], bool]] = {
    "delta": (
        lambda at: delta.sink_on(at / "t", ROWS),
        lambda at: delta.table_rows(at / "t"),
        False,
    ),
    "delta by key": (
        lambda at: delta.sink_on(at / "t", ROWS, key_columns="id"),
        lambda at: delta.table_rows(at / "t"),
        True,
    ),
    "iceberg": (lambda at: iceberg.sink_on(at, ROWS), iceberg.table_rows, False),
    "sqlite": (
        lambda at: sqlite.sink_on(at / "x.db", ROWS),
        lambda at: sqlite.table_rows(at / "x.db"),
        False,
    ),
    "database": (database_sink, database_rows, False),
    "database by key": (lambda at: database_sink(at, key_columns="id"), database_rows, True),
}


def attempt(sink: Sink, number: int, rows: Rows, end: str) -> None:
    """Writes a batch with two tasks, up to a point."""
    batch = batch_id(number)
    opener = sink.begin(batch)
    if end == "begun":
        return
    messages = []
    for task, part in enumerate((rows[::2], rows[1::2])):
        writer = opener.open(TaskId(batch, task))
        writer.write(rows_of(part, ROWS))
        messages.append(writer.close())
    if end == "written":
        return
    sink.commit(batch, messages)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(
    batches=st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["a", "b"])), max_size=4),
            st.lists(st.sampled_from(POINTS), max_size=3),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_batch_that_is_attempted_several_times_is_written_once(kind, batches):
    opened, table_rows, is_keyed = KINDS[kind]
    folder = Path(tempfile.mkdtemp())
    try:
        expected: Rows = []
        sink = opened(folder)
        for number, (rows, ends) in enumerate(batches):
            for end in ends:
                attempt(sink, number, rows, end)
                sink = opened(folder)  # the job was killed and is started again
            attempt(sink, number, rows, "committed")
            ordered = rows[::2] + rows[1::2]
            if is_keyed:
                expected = [*(dict(expected) | dict(ordered)).items()]
            else:
                expected += ordered
        assert Counter(table_rows(folder)) == Counter(expected)
    finally:
        shutil.rmtree(folder)
