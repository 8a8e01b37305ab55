"""Cross joins in windows on Spark equal Spark's own batch query."""

from __future__ import annotations

import pytest
from tests.engine.compile.test_window_and_temporal_joins_on_spark import check

TEN = "'10 seconds'"


def windowed(name: str, window: str) -> str:
    return f"(SELECT *, window(t, {window}) AS w FROM {name}) {name}"


@pytest.mark.parametrize("emit", ["CHANGES", "FINAL"])
def test_every_row_meets_every_row_of_its_tumbling_window(spark, emit: str) -> None:
    check(
        spark,
        "SELECT a.id AS x, b.id AS y, _window_start AS w FROM a CROSS JOIN b "
        f"WINDOW TUMBLING(INTERVAL '10' SECONDS) EMIT {emit}",
        f"SELECT a.id AS x, b.id AS y, a.w.start AS w FROM {windowed('a', TEN)} "
        f"JOIN {windowed('b', TEN)} ON a.w = b.w",
    )


@pytest.mark.parametrize("salt", ["", "WITH ('join.salt' = '2')"])
def test_predicates_filter_pairs_of_sliding_windows(spark, salt: str) -> None:
    size = "'12 seconds', '4 seconds'"
    check(
        spark,
        "SELECT a.id AS x, b.id AS y, _window_start AS w FROM a CROSS JOIN b "
        "WHERE a.x < b.x AND b.s IS NOT NULL "
        f"WINDOW SLIDING(SIZE INTERVAL '12' SECONDS, SLIDE INTERVAL '4' SECONDS) {salt}",
        f"SELECT a.id AS x, b.id AS y, a.w.start AS w FROM {windowed('a', size)} "
        f"JOIN {windowed('b', size)} ON a.w = b.w AND a.x < b.x AND b.s IS NOT NULL",
    )


def test_its_results_are_aggregated_by_window(spark) -> None:
    check(
        spark,
        "SELECT _window_start AS w, count(*) AS n FROM (SELECT a.id, _WINDOW_START, _WINDOW_END "
        "FROM a CROSS JOIN b WINDOW TUMBLING(INTERVAL '10' SECONDS)) "
        "GROUP BY _window_start, _window_end",
        f"SELECT a.w.start AS w, count(*) AS n FROM {windowed('a', TEN)} "
        f"JOIN {windowed('b', TEN)} ON a.w = b.w GROUP BY a.w",
    )
