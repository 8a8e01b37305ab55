"""Joins without a time bound on Spark: what is left of their changes is Spark's own batch join."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.engine.compile.test_window_and_temporal_joins_on_spark import check
from tests.engine.joins import JoinOnSpark
from tests.kernels.interval_join.oracle import Row

pytestmark = pytest.mark.slow

FOREVER = "WITH ('state.ttl' = 'forever')"
COUNTED = "(SELECT k, count(*) AS n, sum(x) AS total FROM {} GROUP BY k {})"
EVERY = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]


def left_only(how: str) -> bool:
    return "SEMI" in how or "ANTI" in how


@pytest.mark.parametrize("how", ["JOIN", "FULL JOIN", "LEFT ANTI JOIN"])
def test_rows_that_stay(spark, how: str) -> None:
    right = "" if left_only(how) else ", b.id AS y, b.d AS d"
    text = f"SELECT a.id AS x, a.s AS s{right} FROM a {how} b ON a.k = b.k AND a.x <= b.x"
    check(spark, f"{text} {FOREVER}", text)


@pytest.mark.parametrize("how", EVERY)
def test_rows_with_results_that_change(spark, how: str) -> None:
    right = "" if left_only(how) else ", c.n AS n, c.total AS total"
    text = f"SELECT a.id AS x{right} FROM a {how} {{}} c ON a.k = c.k AND a.y < 5"
    check(
        spark,
        f"{text.format(COUNTED.format('b', FOREVER))} {FOREVER}",
        text.format(COUNTED.format("b", "")),
    )


def test_results_that_change_with_each_other(spark) -> None:
    text = (
        "SELECT p.k AS k, p.n AS n, q.n AS m FROM {} p FULL JOIN {} q ON p.k = q.k AND p.n <= q.n"
    )
    check(
        spark,
        f"{text.format(COUNTED.format('a', FOREVER), COUNTED.format('b', FOREVER))} {FOREVER}",
        text.format(COUNTED.format("a", ""), COUNTED.format("b", "")),
    )


def test_a_key_that_is_a_number_or_not_one(spark) -> None:
    text = "SELECT a.id AS x, b.id AS y FROM a LEFT JOIN b ON a.g = b.g AND a.x = b.x"
    check(spark, f"{text} {FOREVER}", text)


def test_a_key_that_is_its_own_hash(spark) -> None:
    text = "SELECT a.x AS x, c.n AS n FROM a FULL JOIN {} c ON a.x = c.x"
    counted = "(SELECT x, count(*) AS n FROM b GROUP BY x {})"
    check(
        spark, f"{text.format(counted.format(FOREVER))} {FOREVER}", text.format(counted.format(""))
    )


def test_a_predicate_that_only_spark_can_decide(spark) -> None:
    text = "SELECT a.id AS x, c.n AS n FROM a JOIN {} c ON a.k = c.k AND (a.id + c.n) % 3 = 0"
    check(
        spark,
        f"{text.format(COUNTED.format('b', FOREVER))} {FOREVER}",
        text.format(COUNTED.format("b", "")),
    )


def test_three_streams_whose_pairs_are_taken_back(spark) -> None:
    text = (
        "SELECT a.id AS x, b.id AS y, c.id AS z "
        "FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.s = c.s"
    )
    check(spark, f"{text} {FOREVER}", text, count=3, rows=25)


def test_an_aggregate_over_pairs_that_are_taken_back(spark) -> None:
    text = (
        "SELECT s, count(*) AS n, sum(y) AS total FROM (SELECT a.s AS s, b.x AS y FROM a LEFT JOIN "
        "b ON a.k = b.k {0}) p GROUP BY s {0}"
    )
    check(spark, text.format(FOREVER), text.format(""))


def test_rows_that_live_long_enough_are_as_good_as_rows_that_stay(spark) -> None:
    text = "SELECT a.id AS x, b.id AS y FROM a FULL JOIN b ON a.k = b.k"
    check(spark, f"{text} WITH ('state.ttl' = '10m')", text)


def test_expired_rows_match_no_more_and_their_results_stay(spark) -> None:
    query = (
        "SELECT l.id AS x, r.id AS y FROM l LEFT JOIN r ON l.k1 = r.k1 WITH ('state.ttl' = '10s')"
    )
    rows, ledger = JoinOnSpark(spark, query).run(
        [
            ([Row(1, 0, ("a", 1))], []),
            ([Row(2, 100, ("b", 1))], [Row(7, 100, ("b", 1))]),
            ([Row(3, 50, ("a", 1)), Row(4, 90, ("b", 1))], [Row(8, 100, ("a", 1))]),
        ]
    )
    assert Counter(rows) == {(1, None, "+I"): 1, (2, 7, "+I"): 1, (4, 7, "+I"): 1}
    assert ledger is not None
    assert ledger.errors == []
    left, right = ledger.inputs
    assert (left["late"], left["expired"], right["expired"]) == (1, 3, 2)
