"""Opens sinks on the tests' PostgreSQL and writes batches to them without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from tests.services.postgres import USER, Postgres

from millstream.connectors.postgresql.batch_writer import BatchOpener
from millstream.connectors.postgresql.sink import PostgresSink
from millstream.connectors.sink import BatchId, Message, TaskId
from millstream.plan.nodes import SinkDef

ENVIRONMENT = "MILLSTREAM_TEST_PASSWORD"


def sink_on(server: Postgres, monkeypatch: pytest.MonkeyPatch, **options: str) -> PostgresSink:
    monkeypatch.setenv(ENVIRONMENT, server.password)
    given = {"url": server.url, "user": USER, "password.env": ENVIRONMENT, "table": "results"}
    given |= {name.replace("_", "."): value for name, value in options.items()}
    return PostgresSink.open(SinkDef("out", "postgresql", tuple(given.items())), Path())


def prepare(sink: PostgresSink, schema: pa.Schema) -> None:
    sink._prepare(from_arrow_schema(schema))


def batch_id(batch: int, checkpoint: str = "checkpoint") -> BatchId:
    return BatchId(checkpoint, "query", "main", batch)


def write(
    sink: PostgresSink,
    batch: BatchId,
    tasks: Sequence[Iterable[pa.RecordBatch]],
    *,
    staged: bool = False,
    before_commit: Callable[[], None] = lambda: None,
) -> None:
    """Writes a batch; `staged`: through the staging table, in many parts."""
    opener: Any = sink.begin(batch)
    if staged and isinstance(opener, BatchOpener):
        opener = replace(opener, message_bytes=0, chunk_bytes=64)
    messages: list[Message] = []
    for number, rows in enumerate(tasks):
        writer = opener.open(TaskId(batch, number))
        for each in rows:
            writer.write(each)
        messages.append(writer.close())
    before_commit()
    sink.commit(batch, messages)


def table_rows(server: Postgres, columns: str = "*") -> list[tuple[Any, ...]]:
    with server.connect() as connection:
        query = f"SELECT {columns} FROM results ORDER BY 1, 2"
        return connection.execute(query.encode()).fetchall()
