"""Columns of a source that no query reads are not passed through windows or computed columns."""

from __future__ import annotations

import pytest

from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.facts.output_groups import query_sources
from millstream.plan.facts.used_columns import used_columns
from millstream.plan.identity import query_identity
from millstream.plan.nodes import Query

WITH = "WITH ('connector' = 'file', 'path' = 'x')"
SOURCES = """
CREATE SOURCE a (k STRING{}, v INT, t TIMESTAMP, WATERMARK FOR t AS t) {};
CREATE SOURCE b (k STRING, w INT, t TIMESTAMP, twice AS w * 2, WATERMARK FOR t AS t) {};
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out') AS {};
"""


def query_of(sql: str, extra: str = "") -> Query:
    [query] = group_into_queries(build_job(SOURCES.format(extra, WITH, WITH, sql)))
    return query


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.k, b.w FROM a JOIN b ON a.k = b.k WINDOW TUMBLING(INTERVAL 1 HOUR)",
        "SELECT a.k FROM a JOIN b ON a.k = b.k WINDOW SLIDING(SIZE INTERVAL 1 HOUR, "
        "SLIDE INTERVAL 10 MINUTES)",
        "SELECT k, max(_timestamp) AS m FROM a WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY k",
        "SELECT k FROM a WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY _timestamp LIMIT 3",
        "SELECT a.k, a._processing_time AS p FROM a JOIN b WITHIN INTERVAL 1 HOUR ON a.k = b.k",
    ],
)
def test_state_does_not_depend_on_a_new_column_of_a_source(sql: str) -> None:
    one, two = query_of(sql), query_of(sql, ", more STRING")
    assert query_identity(one)["state"] == query_identity(two)["state"]
    assert query_identity(one) != query_identity(two)


def test_only_columns_that_are_read_are_read_from_files() -> None:
    query = query_of("SELECT a.k FROM a JOIN b ON a.k = b.k WINDOW TUMBLING(INTERVAL 1 HOUR)")
    [output] = query.outputs
    found = {each.name: used_columns(output.root, each) for each in query_sources(query)}
    assert found == {"a": ("k", "t"), "b": ("k", "w", "t")}  # a computed column reads w


def test_a_star_reads_all_columns() -> None:
    query = query_of("SELECT * FROM a WINDOW TUMBLING(INTERVAL 1 HOUR)", ", more STRING")
    [output] = query.outputs
    assert [each.name for each in output.root.outputs] == [
        *("k", "more", "v", "t", "_window_start", "_window_end"),
    ]
    query = query_of("SELECT struct(*) AS s, _source FROM a", ", more STRING")
    [output] = query.outputs
    [source] = query_sources(query)
    assert used_columns(output.root, source) == ("k", "more", "v", "t")


def test_queries_of_one_stream_share_it() -> None:
    sql = """SELECT k, n FROM hours;
    CREATE STREAM hours AS SELECT a.k, a._source, count(*) AS n
    FROM a JOIN b WITHIN INTERVAL 1 HOUR ON a.k = b.k WINDOW TUMBLING(INTERVAL 1 HOUR)
    GROUP BY a.k, a._source;
    CREATE SINK two WITH ('connector' = 'file', 'path' = 'two') AS SELECT _source AS s FROM hours"""
    assert len(query_of(sql).outputs) == 2
