"""A checkpoint of a DataFrame of the Python API is resumed by the same query only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import millstream as ms
from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.errors import StateError
from millstream.run.failures import user_error

EPOCH = datetime(2026, 1, 15, tzinfo=UTC)
SCHEMA = "k string, k2 string, x bigint, t timestamp, t2 timestamp"
Make = Callable[[ms.Stream, ms.Stream], ms.Stream]


def row(minutes: int, **values: Any) -> dict[str, Any]:
    at = EPOCH + timedelta(minutes=minutes)
    return {"k": "a", "k2": "a", "x": 1, "t": at, "t2": at, **values}


class Runs:
    """Queries over the same two streams and the same checkpoint, one after the other."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder
        self.streams = (MemoryStream(spark, SCHEMA), MemoryStream(spark, SCHEMA))
        self.sink = MemorySink()

    def run(self, make: Make, *, time: str = "t", minutes: int = 0) -> list[dict[str, Any]]:
        """The rows that a run emits after one more row of each stream."""
        self.streams[0].add([row(minutes)])
        self.streams[1].add([row(minutes + 1)])
        left, right = (ms.stream(each.frame(), time=time) for each in self.streams)
        before = len(self.sink.rows())

        def write(batch: DataFrame, number: int) -> None:
            self.sink.write(batch, number)

        writer = make(left, right).to_df(key_groups=4).writeStream.foreachBatch(write)
        query = writer.option("checkpointLocation", str(self.folder)).start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        return self.sink.rows()[before:]


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> Runs:
    return Runs(spark, tmp_path / "checkpoint")


def windows(size: str, lateness: str = "0s") -> Make:
    return lambda left, right: left.window_join(right, ms.tumbling(size), on="k", lateness=lateness)


def pairs(on: str) -> Make:
    return lambda left, right: left.interval_join(right, on=on, lower="-5m", upper="5m")


def salted(salt: int) -> Make:
    return lambda left, right: ms.sql(
        f"SELECT l.x FROM l JOIN r WITHIN 5 MINUTES ON l.k = r.k WITH ('join.salt' = '{salt}')",
        l=left,
        r=right,
    )


def totals(call: str) -> Make:
    return lambda left, _: left.window(ms.tumbling("1 hour")).aggregate(by="k", total=call)


def test_the_same_window_join_resumes(runs: Runs) -> None:
    assert len(runs.run(windows("1 hour"))) == 1
    assert len(runs.run(windows("1 hour"), minutes=30)) == 3


CHANGES: list[Any] = [
    pytest.param(
        (windows("1 hour"), "t"),
        (windows("2 hours"), "t"),
        "window join windows 1 size: 1h -> 2h",
        id="window",
    ),
    pytest.param(
        (windows("1 hour"), "t"),
        (windows("1 hour", lateness="5m"), "t"),
        "window join lateness: 0s -> 5m",
        id="lateness",
    ),
    pytest.param(
        (pairs("k"), "t"),
        (pairs("k2"), "t"),
        "interval join keys left: `left`.`k` -> `left`.`k2`",
        id="key",
    ),
    pytest.param(
        (pairs("k"), "t"), (pairs("k"), "t2"), "interval join left time: t -> t2", id="event time"
    ),
    pytest.param((salted(2), "t"), (salted(4), "t"), "interval join salt: 2 -> 4", id="salt"),
    pytest.param(
        (totals("sum(x)"), "t"),
        (totals("max(x)"), "t"),
        "aggregate calls a0 function: sum -> max",
        id="aggregate",
    ),
]


@pytest.mark.parametrize(("first", "second", "change"), CHANGES)
def test_another_query_does_not_resume_from_the_checkpoint(
    runs: Runs, first: tuple[Make, str], second: tuple[Make, str], change: str
) -> None:
    runs.run(first[0], time=first[1])
    with pytest.raises(StateError) as caught, user_error():
        runs.run(second[0], time=second[1], minutes=30)
    assert caught.value.code == "MS-STATE-CHANGED"
    assert change in caught.value.cause


def test_a_renamed_alias_in_lower_case_and_other_spacing_resume(runs: Runs) -> None:
    def total(text: str) -> Make:
        return lambda left, _: ms.sql(text, s=left)

    text = "SELECT s.k, SUM(s.x + 1) AS n FROM s WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY s.k"
    runs.run(total(text))
    runs.run(total(text.replace("SUM(s.x + 1)", "sum( s.x+1 )")), minutes=30)
