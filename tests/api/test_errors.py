"""Mistakes in Python are errors that name the fix; nothing runs before."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import functions as F

import millstream as ms
from millstream.connectors.memory import MemoryStream
from millstream.errors import MillstreamError, PlanError, PropertyError

SCHEMA = "k string, n bigint, t timestamp"


@pytest.fixture(scope="module")
def frame(spark):
    return MemoryStream(spark, SCHEMA).frame()


@pytest.fixture(scope="module")
def stream(frame) -> ms.Stream:
    return ms.stream(frame, time="t", delay="5s", name="s")


@pytest.mark.parametrize("name", ["writeStream", "isStreaming", "groupBy", "withColumn"])
def test_an_attribute_of_a_dataframe_names_to_df(stream, name) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'.*call .to_df\(\) first"):
        getattr(stream, name)
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'.$"):
        stream.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.select(F.col("n")),
        lambda s: s.where(F.col("n") > 1),
        lambda s: s.aggregate(ttl=None, total=F.sum("n")),
        lambda s: s.aggregate(by=F.col("k"), ttl=None, total="sum(n)"),
        lambda s: s.window(ms.tumbling("1h")).aggregate(by=[F.col("k")], total="sum(n)"),
        lambda s: s.top_n(1, order=F.desc("n"), ttl=None),
        lambda s: s.deduplicate(F.col("k"), within=None),
        lambda s: s.interval_join(s, on=F.col("k"), lower="0s", upper="1s"),
    ],
)
def test_a_column_is_rejected_with_what_to_write(stream, call) -> None:
    with pytest.raises(
        PlanError, match=r"is a Column, not (an expression|the name).*Use "
    ) as caught:
        call(stream)
    assert caught.value.code == "MS-PLAN-EXPRESSION"


def test_a_batch_dataframe_is_not_a_stream(spark) -> None:
    batch = spark.createDataFrame([], SCHEMA)
    with pytest.raises(
        PlanError, match=r"MS-PLAN-STREAM: the DataFrame is not streaming.*ms.table"
    ):
        ms.stream(batch, time="t")


def test_a_dataframe_with_a_watermark_is_a_stream(stream, spark) -> None:
    frame = MemoryStream(spark, SCHEMA).frame()
    marked = frame.withWatermark("t", "10 seconds")
    assert ms.stream(marked).time == "t"
    assert ms.stream(marked).delay == timedelta(seconds=10)
    joined = stream.temporal_join(marked, on="k")
    assert joined.sources == ["s", "stream0"]
    with pytest.raises(PlanError, match=r"MS-PLAN-NO-WATERMARK.*Wrap it: ms.stream"):
        stream.temporal_join(frame, on="k")
    with pytest.raises(PlanError, match=r"MS-PLAN-NO-WATERMARK.*Name its column"):
        ms.stream(frame)
    with pytest.raises(PlanError, match=r"MS-PLAN-STREAM: str is not a stream"):
        stream.interval_join("other", on="k", lower="0s", upper="1s")


def test_durations_may_be_timedeltas(frame) -> None:
    stream = ms.stream(frame, time="t", delay=timedelta(seconds=5), name="s")
    texts = ms.stream(frame, time="t", delay="5s", name="s")

    def joined(s: ms.Stream, lower: ms.api.values.Duration, upper) -> str:
        return s.interval_join(s, on="k", lower=lower, upper=upper).explain()

    found = joined(stream, -timedelta(minutes=1), timedelta(hours=2, microseconds=3))
    assert found == joined(texts, "-1m", "2h 3us")
    assert ms.tumbling(timedelta(hours=1)) == ms.tumbling("1 hour")
    with pytest.raises(PropertyError, match=r"MS-PROP-DURATION: .* is negative"):
        ms.session(-timedelta(hours=1))
    with pytest.raises(PropertyError, match=r"MS-PROP-DURATION: .* out of range"):
        ms.session(timedelta(days=99_999))


def test_an_error_in_an_expression_has_no_place_in_a_text_the_user_has_not_written(stream) -> None:
    with pytest.raises(MillstreamError) as caught:
        stream.select("m + 1 AS m")
    assert caught.value.code == "MS-PLAN-UNKNOWN-COLUMN"
    assert caught.value.place is None
    with pytest.raises(MillstreamError, match="at line 1, column 8") as caught:
        ms.sql("SELECT m FROM s", s=stream)


def test_a_step_without_event_time_says_why(stream) -> None:
    timeless = stream.select("k", "n")
    assert timeless.time is None
    with pytest.raises(PlanError, match=r"MS-PLAN-NO-WATERMARK.*does not carry the event time"):
        timeless.interval_join(stream, on="k", lower="0s", upper="1s")
    totals = stream.aggregate(by="k", ttl=None, total="sum(n)")
    with pytest.raises(PlanError, match=r"MS-PLAN-"):
        totals.window(ms.tumbling("1h")).aggregate(n="count(*)")


def test_options_of_the_outermost_query_stand_on_the_last_step(stream) -> None:
    text = "SELECT k, sum(n) AS n FROM s GROUP BY k EMIT CHANGES WITH ('state.ttl' = 'forever', {})"
    upsert = ms.sql(text.format("'output.mode' = 'upsert'"), s=stream)
    assert upsert.explain(json=True)["pipelines"][0]["mode"] == "upsert"
    with pytest.raises(PropertyError, match=r"'output.mode' is set on an inner query"):
        upsert.where("n > 1")
    with pytest.raises(PlanError, match=r"MS-PLAN-RETRACT"):
        stream.aggregate(by="k", ttl=None, n="sum(n)").to_df(mode="append")
    with pytest.raises(PropertyError, match=r"MS-PROP-VALUE: 'sideways' is not an output mode"):
        stream.to_df() and stream.where("n > 1").to_df(mode="sideways")


def test_a_table_is_required_where_a_table_is(stream) -> None:
    with pytest.raises(PlanError, match=r"MS-PLAN-TABLE: Stream is not a table"):
        stream.lookup_join(stream, on="k")


def test_late_rows_need_an_output(stream) -> None:
    late = stream.deduplicate("k", within="1h", late=ms.side_output("too_late"))
    with pytest.raises(PlanError, match=r"MS-PLAN-LATE-SINK.*Call .outputs\(\) or .write"):
        late.to_df()


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.window("1 hour").aggregate(by="k", total="sum(n)"),
        lambda s: s.cross_join(s, "1 minute"),
    ],
)
def test_a_window_is_not_a_text(stream, call) -> None:
    with pytest.raises(PlanError, match=r"is not a window\..*ms\.tumbling") as caught:
        call(stream).explain()
    assert caught.value.code == "MS-PLAN-WINDOW"


def test_a_session_must_keep_state_in_rocksdb(spark, stream) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(name)
    spark.conf.set(name, before.replace("RocksDB", "HDFSBacked"))
    try:
        with pytest.raises(MillstreamError, match="need RocksDB") as caught:
            stream.deduplicate("k", within="1h").to_df()
    finally:
        spark.conf.set(name, before)
    assert caught.value.code == "MS-RUN-STATE-STORE"
