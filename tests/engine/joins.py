"""Runs a join of two lists of rows on Spark, cut into micro-batches, and returns the results."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from tests.kernels.interval_join.oracle import Bag, Row

import millstream as ms
from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.observe.ledger import Ledger

EPOCH = datetime(2026, 1, 15, tzinfo=UTC)
Rows = list[tuple[Any, ...]]
Batches = list[tuple[list[Row], list[Row]]]
SCHEMA = "id bigint, k1 string, k2 bigint, x double, t timestamp"


def moment(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def as_dict(row: Row) -> dict[str, object]:
    return {"id": row.id, "k1": row.key[0], "k2": row.key[1], "x": row.x, "t": moment(row.t)}


@dataclass
class JoinOnSpark:
    """A query over two streams `l` and `r`, fed batch by batch."""

    spark: SparkSession
    query: str
    delays: tuple[int, int] = (0, 0)
    engine: str = "columnar"

    def run(
        self, batches: list[tuple[list[Row], list[Row]]]
    ) -> tuple[list[tuple[Any, ...]], Ledger | None]:
        streams = MemoryStream(self.spark, SCHEMA), MemoryStream(self.spark, SCHEMA)
        for batch in batches:
            for stream, rows in zip(streams, batch, strict=True):
                stream.add([as_dict(row) for row in rows])
        left, right = (
            ms.stream(stream.frame(), time="t", delay=f"{delay}s")
            for stream, delay in zip(streams, self.delays, strict=True)
        )
        sink = MemorySink()
        with tempfile.TemporaryDirectory() as folder:
            control = Path(folder) / "control"
            joined = ms.sql(self.query, l=left, r=right)
            query = (
                joined.to_df(engine=self.engine, control=control)
                .writeStream.foreachBatch(writer(sink))
                .option("checkpointLocation", f"{folder}/checkpoint")
                .start()
            )
            try:
                for _ in range(2):
                    query.processAllAvailable()
                ms.end_of_input(control)
                for _ in range(2):
                    query.processAllAvailable()
                ledger = ms.ledger(query)
            finally:
                query.stop()
        return [tuple(row.values()) for row in sink.rows()], ledger


def writer(sink: MemorySink) -> Callable[[DataFrame, int], None]:
    def write(frame: DataFrame, batch: int) -> None:
        sink.write(frame, batch)

    return write


def bag(rows: Rows) -> Bag:
    return Counter(rows)
