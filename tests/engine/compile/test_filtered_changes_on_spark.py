"""Every operator reads the results of a windowed aggregate with HAVING, or with WHERE above it."""

from __future__ import annotations

import random

import pytest
from tests.engine.streams import by_spark, cut, left_over, random_rows, run

COUNTS = (
    "SELECT k, _window_time, count(*) AS n FROM s WINDOW TUMBLING(INTERVAL '10' SECONDS) GROUP BY k"
)
BATCH_COUNTS = (
    "SELECT k, w.end - INTERVAL 1 MICROSECOND AS wt, count(*) AS n FROM (SELECT *, "
    "window(t, '10 seconds') AS w FROM s) GROUP BY k, w"
)
SOME = f"{COUNTS} HAVING count(*) > 1"
BATCH_SOME = f"{BATCH_COUNTS} HAVING count(*) > 1"
MINUTE = "WINDOW TUMBLING(INTERVAL '1' MINUTE)"
SAME_MINUTE = "date_trunc('MINUTE', r.t) = date_trunc('MINUTE', l.wt)"
FOREVER = "WITH ('state.ttl' = 'forever')"

QUERIES = {
    "window join": (
        f"SELECT l.k, l.n, r.id FROM ({SOME}) l JOIN s r ON r.k = l.k {MINUTE}",
        f"SELECT l.k, l.n, r.id FROM ({BATCH_SOME}) l JOIN s r ON r.k = l.k AND {SAME_MINUTE}",
    ),
    "window join, WHERE above": (
        f"SELECT l.k, l.n, r.id FROM (SELECT * FROM ({COUNTS}) WHERE n > 1) l LEFT JOIN s r "
        f"ON r.k = l.k {MINUTE}",
        f"SELECT l.k, l.n, r.id FROM ({BATCH_SOME}) l LEFT JOIN s r ON r.k = l.k AND {SAME_MINUTE}",
    ),
    "sliding window join": (
        f"SELECT l.k, l.n, r.id FROM ({SOME}) l JOIN s r ON r.k = l.k "
        "WINDOW SLIDING(SIZE INTERVAL '20' SECONDS, SLIDE INTERVAL '10' SECONDS)",
        f"SELECT l.k, l.n, r.id FROM (SELECT *, window(wt, '20 seconds', '10 seconds') AS w FROM "
        f"({BATCH_SOME})) l JOIN (SELECT *, window(t, '20 seconds', '10 seconds') AS w FROM s) r "
        "ON r.k = l.k AND r.w = l.w",
    ),
    "interval join": (
        f"SELECT l.k, l.n, r.id FROM ({SOME}) l JOIN s r WITHIN INTERVAL 5 SECONDS ON r.k = l.k",
        f"SELECT l.k, l.n, r.id FROM ({BATCH_SOME}) l JOIN s r ON r.k = l.k AND "
        "abs(unix_micros(r.t) - unix_micros(l.wt)) <= 5000000",
    ),
    "session join": (
        f"SELECT l.k, l.n, r.id FROM ({SOME}) l JOIN s r ON r.k = l.k "
        "WINDOW SESSION(GAP INTERVAL '1' HOUR)",
        f"SELECT l.k, l.n, r.id FROM ({BATCH_SOME}) l JOIN s r ON r.k = l.k",
    ),
    "regular join": (
        f"SELECT l.k, l.n, r.id FROM ({SOME}) l JOIN s r ON r.k = l.k {FOREVER}",
        f"SELECT l.k, l.n, r.id FROM ({BATCH_SOME}) l JOIN s r ON r.k = l.k",
    ),
    "aggregate": (
        f"SELECT k, sum(n) AS n FROM ({SOME}) {MINUTE} GROUP BY k",
        f"SELECT k, sum(n) AS n FROM ({BATCH_SOME}) GROUP BY k, date_trunc('MINUTE', wt)",
    ),
    "deduplication": (
        f"SELECT DISTINCT k, n FROM ({SOME}) {FOREVER}",
        f"SELECT DISTINCT k, n FROM ({BATCH_SOME})",
    ),
    "top n": (
        f"SELECT k, n FROM (SELECT k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS p "
        f"FROM ({SOME})) WHERE p <= 1 {FOREVER}",
        f"SELECT k, max(n) AS n FROM ({BATCH_SOME}) GROUP BY k",
    ),
    "rows over": (
        "SELECT k, sum(n) OVER (PARTITION BY k ORDER BY _window_time ROWS BETWEEN 1 PRECEDING AND "
        f"CURRENT ROW) AS n FROM ({SOME}) {FOREVER}",
        "SELECT k, sum(n) OVER (PARTITION BY k ORDER BY wt ROWS BETWEEN 1 PRECEDING AND "
        f"CURRENT ROW) AS n FROM ({BATCH_SOME})",
    ),
}


def check(spark, name: str) -> None:
    query, batch = QUERIES[name]
    rng = random.Random(name)
    rows = random_rows(rng, 60)
    came, ledger = run(spark, query, cut(rng, rows, 4))
    wanted = by_spark(spark, batch, rows)
    assert wanted
    assert left_over(came) == wanted
    assert ledger is not None
    assert ledger.errors == []


def test_a_window_join_of_results_with_having(spark) -> None:
    check(spark, "window join")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in QUERIES if name != "window join"])
def test_other_operators_over_results_with_having(spark, name: str) -> None:
    check(spark, name)
