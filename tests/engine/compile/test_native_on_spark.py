"""The native engine joins streams whose columns Spark computes, such as those of from_json."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import millstream as ms
from millstream.connectors.memory import MemoryStream
from millstream.errors import PlanError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
COLUMNS = "id string, n int, event_time timestamp"
TIME = datetime(2026, 1, 15, 10, tzinfo=UTC)
WITHIN = (
    "AND r.event_time BETWEEN l.event_time AND l.event_time + INTERVAL 1 MINUTE "
    "WITH ('engine' = 'native')"
)


def parsed(spark: SparkSession) -> DataFrame:
    lines = MemoryStream(spark, "value string")
    value = {"id": "a", "n": 1, "event_time": TIME.isoformat()}
    lines.add(
        [{"value": json.dumps(value)}, {"value": json.dumps({**value, "id": "b", "n": None})}]
    )
    return lines.frame().select(F.from_json("value", COLUMNS).alias("j"))


@pytest.mark.parametrize(
    ("columns", "query"),
    [
        # Columns that the query does not read; the event time of a side among those that it does.
        (("j.*",), f"SELECT l.id, r.event_time AS t FROM l JOIN r ON l.n = r.n {WITHIN}"),
        (
            ("j", "j.event_time"),
            f"SELECT l.j.id, r.event_time AS t FROM l JOIN r ON l.j.n = r.j.n {WITHIN}",
        ),
    ],
    ids=["columns", "struct"],
)
def test_columns_of_json_are_keys_of_a_join(
    spark: SparkSession, columns: tuple[str, ...], query: str
) -> None:
    left, right = (ms.stream(parsed(spark).select(*columns), time="event_time") for _ in range(2))
    running = (
        ms.sql(query, l=left, r=right)
        .to_df()
        .writeStream.format("memory")
        .queryName(f"native_json_{len(columns)}")
        .outputMode("append")
        .start()
    )
    try:
        running.processAllAvailable()
        rows = spark.table(f"native_json_{len(columns)}").collect()
    finally:
        running.stop()
    assert [(row["id"], row["t"].astimezone(UTC)) for row in rows] == [("a", TIME)]


def test_a_second_watermark_is_rejected(spark: SparkSession) -> None:
    marked = parsed(spark).select("j.*").withWatermark("event_time", "5 seconds")
    other = ms.stream(parsed(spark).select("j.*"), time="event_time")
    query = f"SELECT l.id, r.event_time AS t FROM l JOIN r ON l.n = r.n {WITHIN}"
    with pytest.raises(PlanError, match=r"MS-PLAN-ENGINE.*the watermark of l, and its DataFrame"):
        ms.sql(query, l=marked, r=other).to_df()
