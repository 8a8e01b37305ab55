"""A qualified window column is the stream's own, an unqualified one that of the query's window."""

from __future__ import annotations

import pytest

from millstream.plan.build.job import build_job
from millstream.plan.nodes import Select, WindowJoin

JOB = """
CREATE SOURCE a (k BIGINT, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SOURCE b (k BIGINT, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SOURCE old (k BIGINT, _window_time TIMESTAMP, WATERMARK FOR _window_time AS _window_time);
CREATE STREAM s AS SELECT k, _WINDOW_START, _WINDOW_END AS we, count(*) AS n FROM a
  WINDOW TUMBLING(INTERVAL '1' MINUTE) GROUP BY k;
CREATE SINK o AS SELECT {} WINDOW TUMBLING(INTERVAL '1' HOUR);
"""


def root(query: str) -> Select:
    return build_job(JOB.format(query)).pipelines[0].root


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("l._WINDOW_START", "l._window_start_"),
        ("l._window_end", "l.we"),
        ("l._window_time", "l._window_time_"),
        ("r._window_start", "r._window_start"),
        ("_window_start", "l._window_start"),
        ("_window_end", "l._window_end"),
        ("_window_time", "l._window_time"),
    ],
)
def test_window_columns_of_a_window_join(column: str, text: str) -> None:
    select = root(f"{column} AS it FROM s l JOIN b r ON r.k = l.k")
    assert [str(output.expression) for output in select.outputs] == [text]


def test_the_own_window_in_on_is_no_column_of_the_joins_window() -> None:
    join = root("l.k FROM s l JOIN b r ON r.k = l.k AND r.t < l._window_time").input
    assert isinstance(join, WindowJoin)
    assert str(join.across_sql) == "r.t < l._window_time_"


def test_the_own_window_after_two_joins() -> None:
    select = root(
        "l._WINDOW_START AS own, _WINDOW_START FROM s l JOIN b r USING (k) JOIN b q USING (k)"
    )
    assert [str(output.expression) for output in select.outputs] == [
        "l_r._window_start_",
        "l_r._window_start",
    ]


def test_the_watermark_follows_an_event_time_that_is_called_window_time() -> None:
    join = root("l.k FROM old l JOIN b r USING (k)").input
    assert isinstance(join, WindowJoin)
    assert (join.left.progress, join.left.time) == ("_window_time_", "_window_time")


def test_the_star_has_the_columns_of_the_joins_window_only() -> None:
    select = root("* FROM s l JOIN b r USING (k)")
    names = [output.name for output in select.outputs]
    assert names == ["k", "we", "n", "t", "_window_start", "_window_end"]


def test_a_window_without_an_aggregate() -> None:
    select = root("s._WINDOW_START AS own, _WINDOW_START FROM s")
    assert [str(output.expression) for output in select.outputs] == [
        "s._window_start_",
        "s._window_start",
    ]
