"""Runs a query over a stream of rows on Spark, cut into micro-batches, and returns the results."""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import millstream as ms
from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.observe.ledger import Ledger

EPOCH = datetime(2026, 1, 15, tzinfo=UTC)
SCHEMA = (
    "id bigint, k string, g double, x bigint, y double, d decimal(10,2), s string, b boolean, "
    "t timestamp"
)
DELAY = 8
Rows = list[dict[str, Any]]
Bag = Counter[tuple[Any, ...]]


def random_rows(rng: random.Random, count: int, span: int = 90) -> Rows:
    """Rows at most DELAY seconds behind the latest before them, with NULLs and equal times."""

    def some(*values: Any) -> Any:
        return rng.choice([None, *values])

    rows = [
        {
            "id": number,
            "k": some("a", "b", "é", ""),
            "g": some(0.0, -0.0, float("nan"), 1.5),
            "x": some(*range(-3, 9)),
            "y": some(0.25, -0.5, 8.0),
            "d": some(Decimal("1.10"), Decimal("-2.35"), Decimal("99999999.99")),
            "s": some("x", "y", "zz"),
            "b": some(True, False),
            "t": EPOCH + timedelta(seconds=rng.randrange(span)),
        }
        for number in range(count)
    ]
    return sorted(rows, key=lambda row: row["t"] + timedelta(seconds=rng.randint(0, DELAY)))


def cut(rng: random.Random, rows: Rows, count: int) -> list[Rows]:
    ends = sorted(rng.randint(0, len(rows)) for _ in range(count - 1))
    return [rows[a:b] for a, b in zip([0, *ends], [*ends, len(rows)], strict=True)]


def run(
    spark: SparkSession,
    query: str,
    batches: list[Rows],
    *,
    engine: str = "auto",
    key_groups: int = 3,
    delay: int = DELAY,
) -> tuple[Rows, Ledger | None]:
    """The rows that `query` over the stream `s` gives, from the first to the end of input."""
    stream = MemoryStream(spark, SCHEMA)
    for batch in batches:
        stream.add(batch)
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "control"
        timed = ms.stream(stream.frame(), time="t", delay=f"{delay}s")
        result = ms.sql(query, s=timed)
        frame = result.to_df(engine=engine, control=control, key_groups=key_groups)
        return collect(frame, control, folder)


def collect(frame: DataFrame, control: Path, folder: str) -> tuple[Rows, Ledger | None]:
    sink = MemorySink()

    def write(batch: DataFrame, number: int) -> None:
        sink.write(batch, number)

    query = (
        frame.writeStream.foreachBatch(write)
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
    return sink.rows(), ledger


def left_over(rows: Rows) -> Bag:
    """What is left when all changes are applied; without `_OP`, all rows."""
    bag: Bag = Counter()
    for row in rows:
        taken_back = row.get("_OP") in ("-U", "-D")
        bag[plain({k: v for k, v in row.items() if k != "_OP"})] += -1 if taken_back else 1
    return Counter({row: count for row, count in bag.items() if count})


def plain(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(_plain(value) for value in row.values())


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else round(value, 9) + 0.0
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, list):
        return tuple(sorted(map(_plain, value), key=repr))
    return value


def by_spark(spark: SparkSession, query: str, rows: Sequence[dict[str, Any]]) -> Bag:
    """What Spark gives for a batch query over all rows at once, as the view `s`."""
    spark.createDataFrame(list(rows), SCHEMA).createOrReplaceTempView("s")
    return left_over(spark.sql(query).toArrow().to_pylist())
