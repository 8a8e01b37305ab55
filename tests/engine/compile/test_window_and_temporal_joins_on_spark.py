"""Joins of several streams, of windows and of versions on Spark equal Spark's own batch query.

A sample of random rows and micro-batches: kernels are compared with their definition without Spark.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.engine.streams import DELAY, SCHEMA, Bag, Rows, collect, cut, left_over, random_rows

import millstream as ms
from millstream.connectors.memory import MemoryStream

NAMES = ("a", "b", "c", "d")


def check(
    spark: SparkSession,
    query: str,
    batch: str,
    count: int = 2,
    rows: int = 40,
    hosts: int | None = None,
) -> Rows:
    """Run `query` over `count` streams, cut at random; compare with `batch` over all their rows.

    `hosts`: the number of stateful operators that it must be for Spark.
    """
    rng = random.Random(query)
    compiled = {name: random_rows(rng, rows, span=60) for name in NAMES[:count]}
    streams = {}
    for name, given in compiled.items():
        stream = MemoryStream(spark, SCHEMA)
        for part in cut(rng, given, 4):
            stream.add(part)
        streams[name] = ms.stream(stream.frame(), time="t", delay=f"{DELAY}s")
        spark.createDataFrame(given, SCHEMA).createOrReplaceTempView(name)
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "control"
        frame = ms.sql(query, **streams).to_df(control=control, key_groups=3)
        plan = frame._jdf.queryExecution().analyzed().toString()
        came, ledger = collect(frame, control, folder)
    assert hosts is None or plan.count("- ~TransformWithState") == hosts
    wanted: Bag = left_over(spark.sql(batch).toArrow().to_pylist())
    assert left_over(came) == wanted
    assert wanted, "a test of nothing"
    assert ledger is not None
    assert ledger.errors == []
    return came


NEAR = "{1}.t BETWEEN {0}.t - INTERVAL 5 SECONDS AND {0}.t + INTERVAL 10 SECONDS"


@pytest.mark.parametrize(
    ("first", "second", "keys"),
    [
        ("JOIN", "JOIN", ("a.k = b.k", "b.k = c.k")),
        ("JOIN", "JOIN", ("a.k = b.k", "b.s = c.s")),
        ("JOIN", "LEFT JOIN", ("a.k = b.k", "a.s = c.s")),
        ("LEFT JOIN", "LEFT JOIN", ("a.k = b.k", "a.k = c.k")),
    ],
    ids=["same key", "other key", "then left", "left twice"],
)
def test_three_streams(spark, first: str, second: str, keys: tuple[str, str]) -> None:
    start = "b" if keys[1].startswith("b") else "a"
    text = (
        f"SELECT a.id AS x, b.id AS y, c.id AS z FROM a {first} b ON {keys[0]} AND "
        f"{NEAR.format('a', 'b')} {second} c ON {keys[1]} AND {NEAR.format(start, 'c')}"
    )
    check(spark, text, text, count=3, rows=30)


@pytest.mark.parametrize(
    ("joins", "hosts"),
    [
        (["a.x = b.x", "b.x = c.x", "a.x = d.x"], 1),
        (["a.s = b.s", "b.s = c.s AND c.id > b.id", "c.s = d.s"], 1),
        (["a.k = b.k AND a.s = b.s", "a.k = c.k AND b.s = c.s", "a.k = d.k"], 2),
        (["a.k = b.k", "b.s = c.s", "c.s = d.s"], 2),
        (["a.k = b.k", "a.k = c.k AND a.s < c.s", "lower(a.s) = d.s"], 2),
    ],
    ids=["integer", "text", "two columns", "another, then the same", "expression"],
)
def test_joins_by_one_key_share_an_exchange(spark, joins: list[str], hosts: int) -> None:
    steps = " ".join(
        f"JOIN {name} ON {on} AND {NEAR.format('a', name)}"
        for name, on in zip("bcd", joins, strict=True)
    )
    text = f"SELECT a.id AS x, b.id AS y, c.id AS z, d.id AS w, a.s, b.t FROM a {steps}"
    check(spark, text, text, count=4, rows=80, hosts=hosts)


def test_outer_joins_of_results_by_their_key_share_its_exchange(spark) -> None:
    text = (
        f"SELECT a.id AS x, b.id AS y, c.id AS z FROM a JOIN b ON a.k = b.k AND "
        f"{NEAR.format('a', 'b')} FULL JOIN c ON a.k = c.k AND {NEAR.format('a', 'c')} "
        "AND c.id < 20"
    )
    check(spark, text, text, count=3, rows=30, hosts=1)


def test_results_on_the_right_share_an_exchange(spark) -> None:
    text = (
        f"SELECT c.id AS z, p.x, p.y FROM c JOIN (SELECT a.id AS x, b.id AS y, a.s AS word, a.t "
        f"FROM a JOIN b ON a.s = b.s AND {NEAR.format('a', 'b')}) p "
        f"ON c.s = p.word AND {NEAR.format('c', 'p')}"
    )
    check(spark, text, text, count=3, rows=30, hosts=1)


@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN", "FULL JOIN", "LEFT ANTI JOIN"])
@pytest.mark.parametrize("emit", ["CHANGES", "FINAL"])
def test_tumbling_windows(spark, how: str, emit: str) -> None:
    right = "" if "ANTI" in how else ", b.id AS y"
    check(
        spark,
        f"SELECT a.id AS x{right} FROM a {how} b ON a.k = b.k "
        f"WINDOW TUMBLING(INTERVAL '10' SECONDS) EMIT {emit}",
        f"SELECT a.id AS x{right} FROM (SELECT *, window(t, '10 seconds') AS w FROM a) a {how} "
        "(SELECT *, window(t, '10 seconds') AS w FROM b) b ON a.k = b.k AND a.w = b.w",
    )


def test_sliding_windows_give_a_pair_for_every_window_both_share(spark) -> None:
    check(
        spark,
        "SELECT a.id AS x, b.id AS y, _window_start AS w FROM a JOIN b ON a.k = b.k "
        "WINDOW SLIDING(SIZE INTERVAL '12' SECONDS, SLIDE INTERVAL '4' SECONDS)",
        "SELECT a.id AS x, b.id AS y, a.w.start AS w "
        "FROM (SELECT *, window(t, '12 seconds', '4 seconds') AS w FROM a) a "
        "JOIN (SELECT *, window(t, '12 seconds', '4 seconds') AS w FROM b) b "
        "ON a.k = b.k AND a.w = b.w",
    )


def test_tumbling_with_sliding_windows_gives_a_pair_once(spark) -> None:
    check(
        spark,
        "SELECT a.id AS x, b.id AS y FROM a WINDOW TUMBLING(INTERVAL '10' SECONDS) "
        "JOIN b WINDOW SLIDING(SIZE INTERVAL '12' SECONDS, SLIDE INTERVAL '4' SECONDS) "
        "ON a.k = b.k",
        "SELECT DISTINCT a.id AS x, b.id AS y FROM (SELECT *, window(t, '10 seconds') AS w FROM a) "
        "a JOIN (SELECT *, window(t, '12 seconds', '4 seconds') AS w FROM b) b "
        "ON a.k = b.k AND a.w.start < b.w.end AND b.w.start < a.w.end",
    )


@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN"])
def test_the_version_in_force(spark, how: str) -> None:
    """Versions of a key at one time differ in id, and the later arrival counts: here, one of each
    time is in state."""
    query = (
        f"SELECT a.id AS x, v.t AS since FROM a {how} b FOR SYSTEM_TIME AS OF a.t AS v ON a.k = v.k"
    )
    inner = "WHERE since IS NOT NULL" if how == "JOIN" else ""
    check(
        spark,
        query,
        "SELECT * FROM (SELECT a.id AS x, max(b.t) AS since FROM a LEFT JOIN b "
        f"ON a.k = b.k AND b.t <= a.t GROUP BY a.id) {inner}",
    )
