"""Windows, late rows and deduplication from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from tests.engine.joins import moment, writer

import millstream as ms
from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.errors import PlanError, PropertyError

CLICKS = "message_id bigint, user string, cents bigint, at timestamp"


def clicks(spark, *batches: list[tuple[int, str, int, int]]) -> ms.Stream:
    stream = MemoryStream(spark, CLICKS)
    names = ("message_id", "user", "cents", "at")
    for batch in batches:
        rows = [(number, user, cents, moment(at)) for number, user, cents, at in batch]
        stream.add([dict(zip(names, row, strict=True)) for row in rows])
    return ms.stream(stream.frame(), time="at", delay="2 seconds")


def finished(query: Any, control: Path) -> None:
    try:
        for _ in range(2):
            query.processAllAvailable()
        ms.end_of_input(control)
        for _ in range(2):
            query.processAllAvailable()
    finally:
        query.stop()


def rows(frame: DataFrame, control: Path) -> list[dict[str, Any]]:
    sink = MemorySink()
    finished(frame.writeStream.foreachBatch(writer(sink)).start(), control)
    return sink.rows()


def test_a_window_of_each_kind(spark, tmp_path: Path) -> None:
    stream = clicks(spark, [(1, "a", 10, 0), (2, "a", 5, 9), (3, "b", 1, 4)], [(4, "a", 7, 21)])
    kinds = {
        "tumbling": (ms.tumbling("10s"), [("a", 0, 15), ("a", 20, 7), ("b", 0, 1)]),
        "sliding": (
            ms.sliding("20s", "10s"),
            [("a", -10, 15), ("a", 0, 15), ("a", 10, 7), ("a", 20, 7), ("b", -10, 1), ("b", 0, 1)],
        ),
        "session": (ms.session("5s"), [("a", 0, 10), ("a", 9, 5), ("a", 21, 7), ("b", 4, 1)]),
    }
    for name, (window, wanted) in kinds.items():
        control = tmp_path / name
        totals = stream.window(window).aggregate(
            by="user", cents="sum(cents)", since="_window_start"
        )
        found = rows(totals.to_df(control=control), control)
        assert sorted((row["user"], row["since"], row["cents"]) for row in found) == [
            (user, moment(since), cents) for user, since, cents in wanted
        ], name


def test_late_rows_come_out_under_their_name(spark, tmp_path: Path) -> None:
    stream = clicks(spark, [(1, "a", 10, 0), (2, "a", 5, 30)], [(3, "a", 99, 1), (4, "b", 1, 31)])
    windowed = stream.window(ms.tumbling("10s"), late=ms.side_output("too_late"))
    outputs = windowed.aggregate(by="user", n="count(*)").outputs(control=tmp_path)
    assert outputs.names == ("too_late",)
    main, late = MemorySink(), MemorySink()
    finished(outputs.write(rows=writer(main), too_late=writer(late)).start(), tmp_path)
    assert sorted((row["user"], row["n"]) for row in main.rows()) == [
        ("a", 1),
        ("a", 1),
        ("b", 1),
    ]
    (row,) = late.rows()
    assert (row["user"], row["cents"], row["_lateness_ms"]) == ("a", 99, 27_000)
    with pytest.raises(PlanError, match="too_late has no function"):
        outputs.write(rows=writer(main))


def test_a_window_re_fires_for_a_row_within_the_allowed_lateness(spark, tmp_path: Path) -> None:
    stream = clicks(spark, [(1, "a", 10, 0), (2, "a", 5, 14)], [(3, "a", 1, 9)])
    totals = stream.window(ms.tumbling("10s"), lateness="5 minutes").aggregate(
        by="user", cents="sum(cents)"
    )
    frame = totals.to_df(control=tmp_path)
    found = [(row["cents"], row["_OP"]) for row in rows(frame, tmp_path)]
    assert found == [(10, "+I"), (10, "-U"), (11, "+U"), (5, "+I")]


def test_a_redelivered_message_counts_once(spark, tmp_path: Path) -> None:
    stream = clicks(spark, [(1, "a", 10, 0), (1, "a", 10, 0)], [(1, "a", 10, 0), (2, "a", 4, 1)])
    once = stream.deduplicate("message_id", within="1 hour")
    totals = once.window(ms.tumbling("1 minute")).aggregate(by="user", cents="sum(cents)")
    frame = totals.to_df(control=tmp_path / "a")
    assert [(row["user"], row["cents"]) for row in rows(frame, tmp_path / "a")] == [("a", 14)]
    plain = rows(once.to_df(control=tmp_path / "b"), tmp_path / "b")
    assert sorted(row["message_id"] for row in plain) == [1, 2]


def test_an_aggregate_over_all_rows_tells_its_changes(spark, tmp_path: Path) -> None:
    stream = clicks(spark, [(1, "a", 10, 0)], [(2, "a", 5, 1)])
    frame = stream.aggregate(by="user", ttl=None, cents="sum(cents)").to_df(control=tmp_path)
    found = [(row["cents"], row["_OP"]) for row in rows(frame, tmp_path)]
    assert found == [(10, "+I"), (10, "-U"), (15, "+U")]


def test_mistakes_are_told_before_anything_runs(spark) -> None:
    stream = clicks(spark, [])
    with pytest.raises(PlanError, match="MS-PLAN-AGGREGATE"):
        stream.window(ms.tumbling("10s")).aggregate(by="user")
    with pytest.raises(PlanError, match="MS-PLAN-"):
        stream.window(ms.sliding("10s", "3s")).aggregate(by="user", n="count(*)")
    with pytest.raises(PlanError, match="MS-PLAN-UNKNOWN-COLUMN"):
        stream.deduplicate("nobody", within=None)
    with pytest.raises(PropertyError, match="MS-PROP-DURATION"):
        ms.tumbling("soon")


def test_a_dataframe_has_no_output_for_rows_ahead_of_time(spark):
    stream = ms.stream(MemoryStream(spark, CLICKS).frame(), time="at", max_ahead="1d")
    with pytest.raises(PlanError) as caught:
        stream.window(ms.tumbling("10s")).aggregate(by="user", n="count(*)").to_df()
    assert str(caught.value) == (
        "MS-PLAN-MAX-AHEAD: a DataFrame has no dead-letter queue for rows of stream0 that are "
        "ahead of time. Leave max_ahead out and filter such rows, or run the query with .write(…)."
    )
