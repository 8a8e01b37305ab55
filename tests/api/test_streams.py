"""Streams of DataFrames: joins, SQL, validation, and the DataFrames they become."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from tests.engine.joins import moment, writer

import millstream as ms
from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.errors import MillstreamError, PlanError, PropertyError

ORDERS = (
    "id string, amount decimal(10,2), tags array<string>, labels map<string,int>, "
    "inner struct<a:int,b:timestamp>, event_time timestamp"
)
SHIPMENTS = "id string, carrier string, day date, event_time timestamp"


def orders(spark) -> MemoryStream:
    stream = MemoryStream(spark, ORDERS)
    stream.add(
        [
            {
                "id": "A",
                "amount": Decimal("1.50"),
                "tags": ["x", None],
                "labels": {"k": 1},
                "inner": {"a": 1, "b": moment(5)},
                "event_time": moment(0),
            },
            {"id": "B", "event_time": moment(1)},
        ]
    )
    return stream


def shipments(spark) -> MemoryStream:
    stream = MemoryStream(spark, SHIPMENTS)
    stream.add([{"id": "A", "carrier": "UPS", "day": date(2026, 1, 1), "event_time": moment(3)}])
    return stream


def written(frame, control=None) -> list[dict[str, Any]]:
    sink = MemorySink()
    query = frame.writeStream.foreachBatch(writer(sink)).start()
    try:
        for _ in range(2):
            query.processAllAvailable()
        if control is not None:
            ms.end_of_input(control)
            for _ in range(2):
                query.processAllAvailable()
    finally:
        query.stop()
    return sink.rows()


def test_a_left_join_gives_every_type_of_column_unchanged(spark, tmp_path) -> None:
    left = ms.stream(orders(spark).frame(), time="event_time", delay="5s")
    right = ms.stream(shipments(spark).frame(), time="event_time", delay="5s")
    joined = left.interval_join(right, on="id", lower="0s", upper="10s", how="left").to_df(
        control=tmp_path / "control"
    )
    assert joined.isStreaming
    a, b = sorted(written(joined, tmp_path / "control"), key=lambda row: row["id"])
    assert a["amount"] == Decimal("1.50")
    assert a["tags"] == ["x", None]
    assert dict(a["labels"]) == {"k": 1}
    assert a["inner"]["a"] == 1
    assert a["inner"]["b"].timestamp() == moment(5).timestamp()
    assert (a["carrier"], a["day"]) == ("UPS", date(2026, 1, 1))
    assert a["event_time_right"].timestamp() == moment(3).timestamp()
    assert (b["amount"], b["tags"], b["labels"], b["inner"], b["carrier"]) == (None,) * 5


def test_the_result_composes_with_any_pyspark_code(spark) -> None:
    left = ms.stream(orders(spark).frame(), time="event_time")
    right = ms.stream(shipments(spark).frame(), time="event_time")
    joined = left.interval_join(right, on={"id": "id"}, lower="0s", upper="1m").to_df()
    shown = joined.where("carrier = 'UPS'").selectExpr("lower(id) AS id")
    assert written(shown) == [{"id": "a"}]


def test_sql_takes_a_stream_s_watermark_from_spark(spark) -> None:
    rows = written(
        ms.sql(
            "SELECT o.id, upper(s.carrier) AS carrier FROM orders o JOIN ships s ON o.id = s.id "
            "AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR",
            orders=orders(spark).frame().withWatermark("event_time", "5 seconds"),
            ships=ms.stream(shipments(spark).frame(), time="event_time"),
        ).to_df()
    )
    assert rows == [{"id": "A", "carrier": "UPS"}]


def test_sql_without_a_join_is_spark_s_own(spark) -> None:
    text = "SELECT id, amount * 2 AS twice FROM orders WHERE amount > 1"
    assert written(ms.sql(text, orders=orders(spark).frame()).to_df()) == [
        {"id": "A", "twice": Decimal("3.00")}
    ]


def test_mistakes_are_told_before_anything_runs(spark) -> None:
    left = ms.stream(orders(spark).frame(), time="event_time")
    right = ms.stream(shipments(spark).frame(), time="event_time")
    with pytest.raises(PlanError, match="MS-PLAN-UNKNOWN-COLUMN: the stream has no column 'tme'"):
        ms.stream(orders(spark).frame(), time="tme")
    with pytest.raises(PropertyError, match="MS-PROP-VALUE: 'complete' is not"):
        left.window_join(right, ms.tumbling("1h"), on="id", emit="complete")
    with pytest.raises(PlanError, match="MS-PLAN-EMPTY-BOUND"):
        left.interval_join(right, on="id", lower="1m", upper="0s")
    with pytest.raises(PlanError, match="MS-PLAN-JOIN-TYPE: 'sideways' is not a type of join"):
        left.interval_join(right, on="id", lower="0s", upper="1m", how="sideways")
    with pytest.raises(MillstreamError, match="MS-PROP-DURATION"):
        left.interval_join(right, on="id", lower="soon", upper="1m")
    with pytest.raises(PlanError, match="MS-PLAN-KEY-TYPE: the key of a join compares"):
        left.interval_join(right, on={"id": "event_time"}, lower="0s", upper="1m").to_df()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"time": "id"}, "MS-PLAN-TIME-TYPE"),
        ({"delay": "-5s"}, "MS-PROP-DURATION"),
        ({"delay": 5}, "MS-PROP-DURATION"),
        ({"idle": "-5s"}, "MS-PROP-DURATION"),
        ({"every": 0}, "MS-PROP-VALUE"),
    ],
)
def test_a_stream_s_time_is_checked_as_in_sql(spark, given, code) -> None:
    with pytest.raises(MillstreamError) as caught:
        ms.stream(orders(spark).frame(), **{"time": "event_time", **given})
    assert caught.value.code == code


def test_the_public_names_are_these() -> None:
    assert ms.__all__ == [
        "Catalog",
        "CatalogProject",
        "InvalidProjectError",
        "MillstreamError",
        "OnLimit",
        "Outputs",
        "Sink",
        "StateLimit",
        "Stream",
        "StreamRun",
        "Table",
        "database",
        "drop",
        "end_of_input",
        "ledger",
        "reassign",
        "session",
        "side_output",
        "sink",
        "sliding",
        "sql",
        "stream",
        "table",
        "tumbling",
    ]
    assert all(hasattr(ms, name) for name in ms.__all__)


def test_a_registered_function_may_be_called_and_an_unknown_one_is_rejected(spark):
    spark.udf.register("plus_one", lambda number: number + 1, "bigint")
    stream = ms.stream(orders(spark).frame(), time="event_time")
    ms.sql("SELECT plus_one(1) AS n FROM o", o=stream)
    with pytest.raises(PlanError, match="MS-PLAN-FUNCTION at line 1, column 8: Spark has no funct"):
        ms.sql("SELECT plus_two(1) AS n FROM o", o=stream).to_df()


def test_a_computed_timestamp_becomes_the_event_time_of_a_stream(spark):
    stream = ms.stream(orders(spark).frame(), time="event_time")
    days = stream.select("id", "date_trunc('DAY', event_time) AS day").with_watermark("day", "5s")
    assert days.time == "day"
    counted = days.window(ms.tumbling("1 day")).aggregate(n="count(*)")
    assert counted.time is not None
    with pytest.raises(PlanError, match="MS-PLAN-TIME-TYPE: the watermark column id has the type"):
        days.with_watermark("id", "5s")
