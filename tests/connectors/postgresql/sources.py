"""Reads sources on the tests' PostgreSQL without Spark: a micro-batch is two offsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from tests.services.postgres import USER, Postgres

from millstream.connectors.postgresql.change_stream import ChangeStream
from millstream.connectors.postgresql.source import prepare_source
from millstream.connectors.postgresql.source_options import CDC, SNAPSHOT
from millstream.connectors.postgresql.source_reader import PostgresReader
from millstream.connectors.postgresql.source_streams import ItemStream, Offset, StreamSettings
from millstream.connectors.postgresql.table_streams import PageStream, RangeStream
from millstream.connectors.postgresql.target import Target
from millstream.plan.nodes import Source

ENVIRONMENT = "MILLSTREAM_TEST_PASSWORD"
ORDERS = {"id": pa.int64(), "note": pa.string()}


@dataclass(slots=True)
class SourceTrial:
    """One source; `stream` is that of the current run."""

    server: Postgres
    options: Mapping[str, str]
    types: Mapping[str, pa.DataType] = field(default_factory=lambda: ORDERS)
    settings: StreamSettings = field(init=False)
    reader: PostgresReader = field(init=False)
    stream: ItemStream = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """As a new run of the job."""
        given = {
            "url": self.server.url,
            "user": USER,
            "password.env": ENVIRONMENT,
            "table": "orders",
        }
        source = Source("rows", (), options=tuple((given | dict(self.options)).items()))
        target = Target.of("source", source, self.server.folder)
        with target.connect() as connection:
            found = prepare_source(target, connection, source, dict(self.types))
        self.settings, self.reader = found.settings, found.reader
        streams = {SNAPSHOT: PageStream, CDC: ChangeStream}
        kind: type[ItemStream] = streams.get(self.options["mode"], RangeStream)
        self.stream = kind(self.settings)

    def next(self, start: Offset, most: int | None = None) -> Offset:
        limit = ReadAllAvailable() if most is None else ReadMaxRows(most)
        return self.stream.latestOffset(start, limit)

    def rows(self, start: Offset, end: Offset, *more: str) -> list[tuple[Any, ...]]:
        """The rows of a micro-batch: the kind of change, the columns, and `more` columns."""
        kinds = {"_offset": pa.int64(), "_timestamp": pa.timestamp("us", "UTC")}
        wanted = {"_OP": pa.string(), **self.types, **{name: kinds[name] for name in more}}
        return [
            tuple(row[name] for name in wanted)
            for task in self.stream.partitions(start, end)
            for batch in self.reader.read(task.item, wanted)
            for row in batch.to_pylist()
        ]

    def batches(self, start: Offset, most: int | None = None) -> Iterator[tuple[Offset, Offset]]:
        """Micro-batches, until nothing is left."""
        while (end := self.next(start, most)) != start:
            yield start, end
            start = end

    def close(self) -> None:
        self.stream.stop()
        drop_slots(self.server)


def create_orders(server: Postgres, *statements: str) -> None:
    server.run(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public",
        'DROP PUBLICATION IF EXISTS millstream_orders, "Mine"',
        "CREATE TABLE orders (id bigint PRIMARY KEY, note text)",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        *statements,
    )


def drop_slots(server: Postgres) -> None:
    server.run(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
        " WHERE slot_name LIKE 'millstream%' AND NOT active"
    )
