"""Chained operators run as one Spark query, with exact rows."""

from __future__ import annotations

from pathlib import Path

from tests.api.test_windows import rows
from tests.engine.joins import moment

import millstream as ms
from millstream.connectors.memory import MemoryStream


def stream(spark, name: str, *values: tuple[str, int, int]) -> ms.Stream:
    """A row is a key, a number and a time in seconds."""
    made = MemoryStream(spark, "k string, n bigint, t timestamp")
    made.add([{"k": k, "n": n, "t": moment(t)} for k, n, t in values])
    return ms.stream(made.frame(), time="t", name=name)


def test_a_join_an_aggregate_and_the_best_of_it_are_one_query(spark, tmp_path: Path) -> None:
    left = stream(spark, "a", ("x", 1, 0), ("x", 2, 1), ("y", 5, 2), ("x", 7, 61))
    right = stream(spark, "b", ("x", 10, 3), ("y", 100, 4), ("x", 10, 62))
    joined = left.interval_join(right, on="k", lower="0s", upper="10s")
    totals = (
        joined.where("n < 9")
        .select("k", "t", value="n * n_right")
        .window(ms.tumbling("1 minute"))
        .aggregate(by="k", total="sum(value)")
    )
    best = totals.top_n(1, by="_window_end", order="total DESC")
    frame = best.to_df(control=tmp_path, key_groups=2)
    plan = frame._jdf.queryExecution().analyzed().toString()
    assert plan.count("StreamingRelation") == 3  # both sources and the control folder
    found = sorted((row["_window_start"], row["k"], row["total"]) for row in rows(frame, tmp_path))
    assert found == [(moment(0), "y", 500), (moment(60), "x", 70)]


def test_a_self_join_of_results_reads_its_source_once(spark, tmp_path: Path) -> None:
    one = stream(spark, "a", ("x", 1, 0), ("x", 1, 1), ("x", 2, 5), ("y", 3, 6))
    once = one.deduplicate("k", "n", within="1 minute")
    pairs = once.interval_join(once.where("n > 1"), on="k", lower="1s", upper="10s")
    assert pairs.sources == ["a"]
    frame = pairs.to_df(control=tmp_path, key_groups=2)
    assert [(row["n"], row["n_right"]) for row in rows(frame, tmp_path)] == [(1, 2)]


def test_windows_of_results_are_joined_by_their_own_time(spark, tmp_path: Path) -> None:
    def counted(name: str, *values: tuple[str, int, int]) -> ms.Stream:
        made = stream(spark, name, *values)
        return made.window(ms.tumbling("10s")).aggregate(by="k", rows="count(*)")

    left = counted("a", ("x", 1, 0), ("x", 1, 3), ("x", 1, 12))
    right = counted("b", ("x", 1, 5), ("x", 1, 31))
    assert left.time == "_window_time"
    joined = left.interval_join(right, on="k", lower="0s", upper="0s", how="left")
    frame = joined.select("_window_start", "rows", "rows_right").to_df(control=tmp_path)
    assert sorted(tuple(row.values()) for row in rows(frame, tmp_path)) == [
        (moment(0), 2, 1),
        (moment(10), 1, None),
    ]
