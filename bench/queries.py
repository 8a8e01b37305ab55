"""The queries that are measured: ours, and the best plain form of the same in Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import millstream as ms
from bench import data
from bench.worker import Task

_DELAY = "5 seconds"


def interval_join(spark: SparkSession, task: Task, how: str) -> DataFrame:
    orders = _read(spark, task, "orders", data.ORDERS)
    shipments = _read(spark, task, "shipments", data.SHIPMENTS)
    seconds = task.upper // 1_000_000
    if task.engine == "columnar":
        side = "LEFT JOIN" if how == "left" else "JOIN"
        return ms.sql(
            "SELECT o.order_id, o.customer_id, o.amount, s.shipment_id, s.carrier "
            f"FROM orders o {side} shipments s ON o.order_id = s.order_id "
            "AND s.event_time BETWEEN o.event_time "
            f"AND o.event_time + INTERVAL '{seconds}' SECOND",
            orders=_stream(orders),
            shipments=_stream(shipments),
            key_groups=task.cores,  # one a partition, as `millstream run` has it
        )
    left, right = (
        frame.withWatermark("event_time", _DELAY).alias(name)
        for frame, name in ((orders, "o"), (shipments, "s"))
    )
    within = F.expr(
        "o.order_id = s.order_id AND s.event_time BETWEEN o.event_time "
        f"AND o.event_time + INTERVAL {seconds} SECONDS"
    )
    joined = left.join(right, within, how)
    return joined.select("o.order_id", "customer_id", "amount", "shipment_id", "carrier")


def windowed(clause: str, window: Callable[[], Any], spark: SparkSession, task: Task) -> DataFrame:
    """Count and sum of events by user and window, each window once."""
    events = _read(spark, task, "events", data.EVENTS)
    if task.engine == "columnar":
        return ms.sql(
            "SELECT user_id, _window_start, _window_end, COUNT(*) AS n, SUM(amount) AS total "
            f"FROM events WINDOW {clause} GROUP BY user_id EMIT FINAL",
            events=_stream(events),
            key_groups=task.cores,
        )
    grouped = events.withWatermark("event_time", _DELAY).groupBy(window().alias("w"), "user_id")
    made = grouped.agg(F.count("*").alias("n"), F.sum("amount").alias("total"))
    return made.select("user_id", "w.start", "w.end", "n", "total")


def deduplicated(spark: SparkSession, task: Task) -> DataFrame:
    """Each message once; one in five comes again."""
    events = _read(spark, task, "events", data.EVENTS)
    if task.engine == "columnar":
        return ms.sql(
            "SELECT DISTINCT ON (message_id) message_id, user_id, amount, event_time FROM events "
            "WITH ('state.ttl' = '60s')",
            events=_stream(events),
            key_groups=task.cores,
        )
    timed = events.withWatermark("event_time", "60 seconds")
    return timed.dropDuplicatesWithinWatermark(["message_id"])


def _read(spark: SparkSession, task: Task, name: str, schema: str) -> DataFrame:
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(f"{task.folder}/{name}")


def _stream(frame: DataFrame) -> Any:
    return ms.stream(frame, time="event_time", delay=_DELAY)


QUERIES: dict[str, Callable[[SparkSession, Task], DataFrame]] = {
    "inner": lambda spark, task: interval_join(spark, task, "inner"),
    "left": lambda spark, task: interval_join(spark, task, "left"),
    "tumbling": lambda spark, task: windowed(
        "TUMBLING(INTERVAL '10' SECONDS)",
        lambda: F.window("event_time", "10 seconds"),
        spark,
        task,
    ),
    "sliding": lambda spark, task: windowed(
        "SLIDING(SIZE INTERVAL '10' SECONDS, SLIDE INTERVAL '2' SECONDS)",
        lambda: F.window("event_time", "10 seconds", "2 seconds"),
        spark,
        task,
    ),
    "session": lambda spark, task: windowed(
        "SESSION(GAP INTERVAL '5' SECONDS)",
        lambda: F.session_window("event_time", "5 seconds"),
        spark,
        task,
    ),
    "tumbling-open": lambda spark, task: windowed(
        "TUMBLING(INTERVAL '1' DAY)", lambda: F.window("event_time", "1 day"), spark, task
    ),
    "session-open": lambda spark, task: windowed(
        "SESSION(GAP INTERVAL '1' DAY)",
        lambda: F.session_window("event_time", "1 day"),
        spark,
        task,
    ),
    "dedup": deduplicated,
}
