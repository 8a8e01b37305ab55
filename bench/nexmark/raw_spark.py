"""Each query in the best plain form of Structured Streaming, or why there is none.

The same rows as Millstream's, with the same bounds on state where Spark can keep to them. Written
over DataFrames, so that over files that are read at once they give the oracle's rows: a test does
that. Changing results are emitted in update mode, without the old rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.nexmark.columns import COLUMNS
from bench.nexmark.suite import DELAY
from bench.nexmark.write import Data

NOT_POSSIBLE = {
    "q6": "Spark has no OVER (… ROWS …) for streams; it takes an operator of one's own, in "
    "transformWithState",
}


@dataclass(slots=True)
class Streams:
    """Frames of the events; `streaming` or, to check the forms, all files at once."""

    spark: SparkSession
    data: Data
    files: int = 1
    streaming: bool = True

    def timed(self, kind: str) -> DataFrame:
        """Events with their watermark, for queries that wait for time to pass."""
        events = self.events(kind)
        return (
            events.withWatermark("dateTime", f"{DELAY} microseconds") if self.streaming else events
        )

    def events(self, kind: str) -> DataFrame:
        if not self.streaming:
            return self._read(self.spark.read, kind)
        return self._read(self.spark.readStream.option("maxFilesPerTrigger", self.files), kind)

    def side_input(self) -> DataFrame:
        return self._read(self.spark.read, "side_input")

    def _read(self, reader: Any, kind: str) -> DataFrame:
        schema = ", ".join(f"`{name}` {type_}" for name, type_ in COLUMNS[kind].items())
        described = reader.schema(schema).format(self.data.format)
        frame: DataFrame = described.load(f"{self.data.folder}/{kind}")
        return frame

    def micros(self, what: str) -> Column:
        """A span that the generator knows, as an interval."""
        return F.expr(f"INTERVAL '{getattr(self.data.options, what)}' MICROSECONDS")


@dataclass(frozen=True, slots=True)
class SparkQuery:
    """A query of Spark and how it is written. `collected` returns the rows of each batch that the
    driver collects and sums."""

    frame: DataFrame
    mode: str = "append"
    partitions: tuple[str, ...] = ()
    collected: Callable[[DataFrame], DataFrame] | None = None


def q0(streams: Streams) -> SparkQuery:
    return SparkQuery(
        streams.events("bid").select("auction", "bidder", "price", "dateTime", "extra")
    )


def q1(streams: Streams) -> SparkQuery:
    return SparkQuery(
        streams.events("bid").selectExpr(
            "auction", "bidder", "0.908 * price AS price", "dateTime", "extra"
        )
    )


def q2(streams: Streams) -> SparkQuery:
    return SparkQuery(streams.events("bid").where("auction % 123 = 0").select("auction", "price"))


def q3(streams: Streams) -> SparkQuery:
    person = streams.timed("person").where("state IN ('OR', 'ID', 'CA')").alias("p")
    auction = streams.timed("auction").where("category = 10").alias("a")
    within = F.col("a.dateTime").between(
        F.col("p.dateTime") - streams.micros("acts_before"),
        F.col("p.dateTime") + streams.micros("acts_after"),
    )
    joined = auction.join(person, F.expr("a.seller = p.id") & within)
    return SparkQuery(joined.select("p.name", "p.city", "p.state", "a.id"))


def q4(streams: Streams) -> SparkQuery:
    """The average over all batches is the driver's to keep: Spark lets no aggregate without a
    window follow another."""
    session = F.session_window("dateTime", f"{streams.data.options.longest_auction} microseconds")
    closed = (
        _valid(streams, "a.category")
        .groupBy(session, "id", "category")
        .agg(F.max("price").alias("final"))
        .select("category", "final")
    )
    return SparkQuery(
        closed, collected=lambda rows: rows.groupBy("category").agg(F.sum("final"), F.count("*"))
    )


def _valid(streams: Streams, *columns: str | Column) -> DataFrame:
    """Bids that count for their auction."""
    auction, bid = streams.timed("auction").alias("a"), streams.timed("bid").alias("b")
    within = F.col("b.dateTime").between(
        F.col("a.dateTime"), F.col("a.dateTime") + streams.micros("longest_auction")
    )
    on = F.expr("a.id = b.auction AND b.dateTime <= a.expires") & within
    return auction.join(bid, on).select("a.id", *columns, "b.price", "b.dateTime")


def q5(streams: Streams) -> SparkQuery:
    """All counts of a window in one row, and of them those that are greatest."""
    window = F.window("dateTime", "10 seconds", "2 seconds")
    counted = streams.timed("bid").groupBy(window, "auction").agg(F.count("*").alias("num"))
    every = counted.groupBy(F.window(F.window_time("window"), "2 seconds")).agg(
        F.collect_list(F.struct("auction", "num")).alias("all")
    )
    most = every.selectExpr("filter(all, x -> x.num = array_max(all.num)) AS most")
    return SparkQuery(most.select(F.inline("most")))


def q7(streams: Streams) -> SparkQuery:
    highest = (
        streams.timed("bid")
        .groupBy(F.window("dateTime", "10 seconds"))
        .agg(F.max("price").alias("maxprice"))
        .select("maxprice", F.window_time("window").alias("last"))
    )
    on = (
        "price = maxprice AND dateTime BETWEEN last - INTERVAL '9.999999' SECONDS "
        "AND last + INTERVAL '0.000001' SECONDS"
    )
    joined = streams.timed("bid").join(highest, F.expr(on))
    return SparkQuery(joined.select("auction", "bidder", "price", "dateTime", "extra"))


def q8(streams: Streams) -> SparkQuery:
    window = F.window("dateTime", "10 seconds")
    person = streams.timed("person").select("id", "name", window.alias("window"))
    auction = streams.timed("auction").select(F.col("seller").alias("id"), window.alias("window"))
    joined = person.join(auction, ["id", "window"], "left_semi")
    return SparkQuery(joined.select("id", "name", F.col("window.start").alias("starttime")))


def q9(streams: Streams) -> SparkQuery:
    """Winning bids when they are known, not as they change."""
    auction = [f"a.{name}" for name in COLUMNS["auction"] if name not in ("id", "dateTime")]
    bid = ("b.auction", "b.bidder", F.col("b.extra").alias("bid_extra"))
    valid = _valid(streams, *auction, F.col("a.dateTime").alias("began"), *bid)
    session = F.session_window("dateTime", f"{streams.data.options.longest_auction} microseconds")
    order = F.struct("price", -F.unix_micros("dateTime"))
    row = F.struct(*[F.col(name) for name in valid.columns if name != "id"])
    won = valid.groupBy(session, "id").agg(F.max_by(row, order).alias("w"))
    return SparkQuery(
        won.select(
            "id", "w.itemName", "w.description", "w.initialBid", "w.reserve",
            F.col("w.began").alias("dateTime"), "w.expires", "w.seller", "w.category", "w.extra",
            "w.auction", "w.bidder", "w.price", F.col("w.dateTime").alias("bid_dateTime"),
            "w.bid_extra",
        )
    )  # fmt: skip


def q10(streams: Streams) -> SparkQuery:
    rows = streams.events("bid").selectExpr(
        "auction", "bidder", "price", "dateTime", "extra",
        "date_format(dateTime, 'yyyy-MM-dd') AS dt", "date_format(dateTime, 'HH:mm') AS hm",
    )  # fmt: skip
    return SparkQuery(rows, partitions=("dt", "hm"))


def q11(streams: Streams) -> SparkQuery:
    session = F.session_window("dateTime", "10 seconds").alias("w")
    counted = streams.timed("bid").groupBy("bidder", session).agg(F.count("*").alias("bid_count"))
    return SparkQuery(
        counted.select(
            "bidder",
            "bid_count",
            F.col("w.start").alias("starttime"),
            F.col("w.end").alias("endtime"),
        )
    )


def q12(streams: Streams) -> SparkQuery:
    read = streams.events("bid").select("bidder", F.current_timestamp().alias("read"))
    timed = read.withWatermark("read", "0 seconds")
    counted = timed.groupBy("bidder", F.window("read", "10 seconds").alias("w")).agg(
        F.count("*").alias("bid_count")
    )
    return SparkQuery(
        counted.select(
            "bidder",
            "bid_count",
            F.col("w.start").alias("starttime"),
            F.col("w.end").alias("endtime"),
        )
    )


def q13(streams: Streams) -> SparkQuery:
    side = F.broadcast(streams.side_input())
    joined = streams.events("bid").join(side, F.expr("auction % 10000 = key"))
    return SparkQuery(joined.select("auction", "bidder", "price", "dateTime", "value"))


def q14(streams: Streams) -> SparkQuery:
    bids = streams.events("bid").where("0.908 * price > 1000000 AND 0.908 * price < 50000000")
    return SparkQuery(
        bids.selectExpr(
            "auction",
            "bidder",
            "0.908 * price AS price",
            """CASE WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime'
               WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
               ELSE 'otherTime' END AS bidTimeType""",
            "dateTime",
            "extra",
            "length(extra) - length(replace(extra, 'c', '')) AS c_counts",
        )
    )


_LEVELS = {
    "total": "true",
    "rank1": "price < 10000",
    "rank2": "price >= 10000 AND price < 1000000",
    "rank3": "price >= 1000000",
}


def _counts() -> list[Column]:
    return [
        F.expr(f"count(*) FILTER (WHERE {level})").alias(f"{name}_bids")
        for name, level in _LEVELS.items()
    ]


def _distinct() -> list[Column]:
    """Spark has no COUNT(DISTINCT …) over streams: the sets themselves, and their sizes."""
    return [
        F.expr(f"size(collect_set({of}) FILTER (WHERE {level}))")
        .cast("bigint")
        .alias(f"{name}_{of}s")
        for of in ("bidder", "auction")
        for name, level in _LEVELS.items()
    ]


def q15(streams: Streams) -> SparkQuery:
    day = F.window("dateTime", "1 day").alias("w")
    counted = streams.timed("bid").groupBy(day).agg(*_counts(), *_distinct())
    return SparkQuery(_by_day(counted), "update")


def q16(streams: Streams) -> SparkQuery:
    day = F.window("dateTime", "1 day").alias("w")
    minute = F.expr("max(date_format(dateTime, 'HH:mm'))").alias("minute")
    counted = streams.timed("bid").groupBy("channel", day).agg(minute, *_counts(), *_distinct())
    return SparkQuery(_by_day(counted, "channel"), "update")


def q17(streams: Streams) -> SparkQuery:
    day = F.window("dateTime", "1 day").alias("w")
    counted = (
        streams.timed("bid")
        .groupBy("auction", day)
        .agg(
            *_counts(),
            F.min("price").alias("min_price"),
            F.max("price").alias("max_price"),
            F.avg("price").cast("bigint").alias("avg_price"),
            F.sum("price").alias("sum_price"),
        )
    )
    return SparkQuery(_by_day(counted, "auction"), "update")


def _by_day(counted: DataFrame, *keys: str) -> DataFrame:
    day = F.date_format("w.start", "yyyy-MM-dd").alias("day")
    return counted.select(*keys, day, *(n for n in counted.columns if n not in ("w", *keys)))


def q18(streams: Streams) -> SparkQuery:
    """Without a window, Spark never removes a group: state grows with every pair."""
    row = F.struct(*(F.col(name) for name in COLUMNS["bid"]))
    last = (
        streams.events("bid").groupBy("bidder", "auction").agg(F.max_by(row, "dateTime").alias("b"))
    )
    return SparkQuery(last.select("b.*"), "update")


def q19(streams: Streams) -> SparkQuery:
    """Spark has no ROW_NUMBER over streams: the ten greatest as a list. State grows with every
    auction."""
    row = F.struct(*(F.col(name) for name in COLUMNS["bid"]))
    order = F.struct("price", -F.unix_micros("dateTime"))
    top = streams.events("bid").groupBy("auction").agg(F.max_by(row, order, 10).alias("top"))
    numbered = top.select(F.posexplode("top").alias("place", "b"))
    return SparkQuery(numbered.select("b.*", (F.col("place") + 1).alias("rank_number")), "update")


def q20(streams: Streams) -> SparkQuery:
    auction, bid = (
        streams.timed("auction").where("category = 10").alias("a"),
        streams.timed("bid").alias("b"),
    )
    within = F.col("b.dateTime").between(
        F.col("a.dateTime") - streams.micros("bids_before"),
        F.col("a.dateTime") + streams.micros("bids_after"),
    )
    joined = bid.join(auction, F.expr("b.auction = a.id") & within)
    return SparkQuery(
        joined.selectExpr(
            "b.auction", "b.bidder", "b.price", "b.channel", "b.url", "b.dateTime AS bid_dateTime",
            "b.extra AS bid_extra", "a.itemName", "a.description", "a.initialBid", "a.reserve",
            "a.dateTime AS auction_dateTime", "a.expires", "a.seller", "a.category",
            "a.extra AS auction_extra",
        )
    )  # fmt: skip


def q21(streams: Streams) -> SparkQuery:
    known = "lower(channel) IN ('apple', 'google', 'facebook', 'baidu')"
    bids = streams.events("bid").where(f"url RLIKE '(&|^)channel_id=' OR {known}")
    return SparkQuery(
        bids.selectExpr(
            "auction",
            "bidder",
            "price",
            "channel",
            """CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
               WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
               ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id""",
        )
    )


def q22(streams: Streams) -> SparkQuery:
    parts = [f"split_part(url, '/', {n + 3}) AS dir{n}" for n in (1, 2, 3)]
    return SparkQuery(
        streams.events("bid").selectExpr("auction", "bidder", "price", "channel", *parts)
    )


SPARK_QUERIES: dict[str, Callable[[Streams], SparkQuery]] = {
    form.__name__: form
    for form in (
        q0, q1, q2, q3, q4, q5, q7, q8, q9, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20,
        q21, q22,
    )
}  # fmt: skip
