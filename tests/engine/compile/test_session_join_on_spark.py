"""Joins of sessions on Spark equal Spark's own batch query over sessions found by their gaps."""

from __future__ import annotations

import pytest
from tests.engine.compile.test_window_and_temporal_joins_on_spark import check

pytestmark = pytest.mark.slow

WINDOW = "WINDOW SESSION(GAP INTERVAL '4' SECONDS)"
EVERY = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]


def sessions_of(stream: str, *keys: str) -> str:
    """Rows with the first row `f` and the end `e` of their session. One without a key is a session
    of its own."""
    missing = " OR ".join(f"{key} IS NULL" for key in keys)
    by = f"{', '.join(keys)}, CASE WHEN {missing} THEN id END"
    return (
        f"(SELECT *, min(t) OVER (PARTITION BY {by}, n) AS f, "
        f"max(t) OVER (PARTITION BY {by}, n) + INTERVAL 4 SECONDS AS e FROM "
        f"(SELECT *, sum(fresh) OVER (PARTITION BY {by} ORDER BY t, id) AS n FROM "
        f"(SELECT *, CASE WHEN t <= lag(t) OVER (PARTITION BY {by} ORDER BY t, id) "
        f"+ INTERVAL 4 SECONDS THEN 0 ELSE 1 END AS fresh FROM {stream})))"
    )


def batch(select: str, how: str, *keys: str) -> str:
    same = " AND ".join(f"a.{key} = b.{key}" for key in keys)
    return (
        f"SELECT {select} FROM {sessions_of('a', *keys)} a {how} {sessions_of('b', *keys)} b "
        f"ON {same} AND a.f <= b.e AND b.f <= a.e"
    )


@pytest.mark.parametrize("how", EVERY)
@pytest.mark.parametrize("emit", ["CHANGES", "FINAL"])
def test_sessions_that_share_a_moment(spark, how: str, emit: str) -> None:
    columns = "a.id AS x" if "SEMI" in how or "ANTI" in how else "a.id AS x, b.id AS y, b.d AS d"
    query = f"SELECT {columns} FROM a {how} b ON a.k = b.k {WINDOW} EMIT {emit}"
    check(spark, query, batch(columns, how, "k"))


@pytest.mark.parametrize("how", ["JOIN", "FULL JOIN"])
def test_the_window_is_from_the_first_row_to_the_end_of_both(spark, how: str) -> None:
    query = (
        "SELECT a.id AS x, b.id AS y, _window_start AS f, _window_end AS e, _window_time AS t "
        f"FROM a {how} b ON a.k = b.k {WINDOW} EMIT FINAL"
    )
    end = "greatest(a.e, b.e)"
    columns = (
        f"a.id AS x, b.id AS y, least(a.f, b.f) AS f, {end} AS e, "
        f"{end} - INTERVAL 1 MICROSECOND AS t"
    )
    check(spark, query, batch(columns, how, "k"))


@pytest.mark.parametrize("read", ["a.x AS k", "a.id AS k"], ids=["and read", "and not read"])
def test_a_key_that_is_its_own_hash(spark, read: str) -> None:
    columns = f"{read}, b.id AS y"
    query = f"SELECT {columns} FROM a LEFT JOIN b ON a.x = b.x {WINDOW} EMIT FINAL"
    check(spark, query, batch(columns, "LEFT JOIN", "x"), rows=120)


def test_a_key_of_two_columns(spark) -> None:
    columns = "a.id AS x, b.id AS y"
    query = f"SELECT {columns} FROM a FULL JOIN b ON a.k = b.k AND a.g = b.g {WINDOW} EMIT CHANGES"
    check(spark, query, batch(columns, "FULL JOIN", "k", "g"), rows=80)
