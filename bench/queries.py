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
        ).to_df(key_groups=task.cores)  # one a partition, as `millstream run` has it
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
        ).to_df(key_groups=task.cores)
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
        ).to_df(key_groups=task.cores)
    timed = events.withWatermark("event_time", "60 seconds")
    return timed.dropDuplicatesWithinWatermark(["message_id"])


def window_join(spark: SparkSession, task: Task) -> DataFrame:
    """Orders and shipments of one minute."""
    orders = _read(spark, task, "orders", data.ORDERS)
    shipments = _read(spark, task, "shipments", data.SHIPMENTS)
    if task.engine == "columnar":
        return ms.sql(
            "SELECT o.order_id, o.amount, s.shipment_id, s.carrier "
            "FROM orders o JOIN shipments s ON o.order_id = s.order_id "
            "WINDOW TUMBLING(INTERVAL '60' SECONDS) EMIT CHANGES",
            orders=_stream(orders),
            shipments=_stream(shipments),
        ).to_df(key_groups=task.cores)
    sides = [
        frame.withWatermark("event_time", _DELAY).withColumn(
            "w", F.window("event_time", "60 seconds")
        )
        for frame in (orders, shipments)
    ]
    joined = sides[0].drop("event_time").join(sides[1].drop("event_time"), ["order_id", "w"])
    return joined.select("order_id", "amount", "shipment_id", "carrier")


def session_join(spark: SparkSession, task: Task) -> DataFrame:
    """Every visit of a session with every click of the session that it meets."""
    visits = _read(spark, task, "visits", data.VISITS)
    clicks = _read(spark, task, "clicks", data.CLICKS)
    if task.engine == "columnar":
        return ms.sql(
            "SELECT v.user_id, v.visit_id, c.click_id FROM visits v JOIN clicks c "
            "ON v.user_id = c.user_id WINDOW SESSION(GAP INTERVAL '3' SECONDS) EMIT FINAL",
            visits=_stream(visits),
            clicks=_stream(clicks),
        ).to_df(key_groups=task.cores)
    sides = []
    for frame, name in ((visits, "visit_id"), (clicks, "click_id")):
        grouped = frame.withWatermark("event_time", _DELAY).groupBy(
            F.session_window("event_time", "3 seconds").alias("w"), "user_id"
        )
        sides.append(grouped.agg(F.collect_list(name).alias(name)))
    left, right = sides[0].alias("v"), sides[1].alias("c")
    met = F.expr("v.user_id = c.user_id AND v.w.start <= c.w.end AND c.w.start <= v.w.end")
    pairs = left.join(right, met).select("v.user_id", "visit_id", "click_id")
    pairs = pairs.withColumn("visit_id", F.explode("visit_id"))
    return pairs.withColumn("click_id", F.explode("click_id"))


def temporal_join(spark: SparkSession, task: Task) -> DataFrame:
    """Each trade with the quote valid at its time. For Spark, the age of a quote is limited."""
    trades = _read(spark, task, "trades", data.TRADES)
    quotes = _read(spark, task, "quotes", data.QUOTES)
    if task.engine == "columnar":
        return ms.sql(
            "SELECT t.trade_id, t.symbol, t.amount * q.price AS value "
            "FROM trades t JOIN quotes FOR SYSTEM_TIME AS OF t.event_time AS q "
            "ON t.symbol = q.symbol",
            trades=_stream(trades),
            quotes=_stream(quotes),
        ).to_df(key_groups=task.cores)
    left = trades.withWatermark("event_time", _DELAY).alias("t")
    right = quotes.withWatermark("event_time", _DELAY).alias("q")
    oldest = data.QUOTED // 1_000_000
    within = F.expr(
        "t.symbol = q.symbol AND q.event_time <= t.event_time "
        f"AND q.event_time >= t.event_time - INTERVAL {oldest} SECONDS"
    )
    met = left.join(right, within).select(
        "t.trade_id", "t.symbol", "t.amount", F.col("t.event_time").alias("at"),
        F.col("q.event_time").alias("since"), "q.price",
    )  # fmt: skip
    keys = ("trade_id", "symbol", "amount", "at")
    last = met.groupBy(*keys).agg(F.max_by("price", "since").alias("price"))
    return last.select("trade_id", "symbol", (F.col("amount") * F.col("price")).alias("value"))


def hot_join(spark: SparkSession, task: Task, salt: int) -> DataFrame:
    """Each order with its shipment 50 microseconds later."""
    salted = f" WITH ('join.salt' = '{salt}')" if salt > 1 else ""
    return ms.sql(
        "SELECT o.customer_id, o.amount, s.shipment_id FROM orders o JOIN shipments s "
        "ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time "
        f"AND o.event_time + INTERVAL '0.000090' SECOND{salted}",
        orders=_stream(_read(spark, task, "orders", data.ORDERS)),
        shipments=_stream(_read(spark, task, "shipments", data.SHIPMENTS)),
    ).to_df(key_groups=task.cores)


def lookup(spark: SparkSession, task: Task) -> DataFrame:
    """Each event with its user, looked up in a database."""
    users = ms.database(
        "postgresql",
        "id BIGINT, name STRING, country STRING",
        key="id",
        url=task.url,
        table="users",
    )
    events: ms.Stream = _stream(_read(spark, task, "events", data.EVENTS))
    return events.lookup_join(users, on={"user_id": "id"}, how="left").to_df()


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
    "short-session": lambda spark, task: windowed(
        "SESSION(GAP INTERVAL '5' SECONDS)",
        lambda: F.session_window("event_time", "5 seconds"),
        spark,
        task,
    ),
    "session": lambda spark, task: windowed(
        "SESSION(GAP INTERVAL '60' SECONDS)",
        lambda: F.session_window("event_time", "60 seconds"),
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
    "window-join": window_join,
    "session-join": session_join,
    "temporal-join": temporal_join,
    "lookup": lookup,
    "hot-join": lambda spark, task: hot_join(spark, task, 1),
    "salted-join": lambda spark, task: hot_join(spark, task, task.cores),
}
