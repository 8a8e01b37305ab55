"""One query writes the malformed records of a source, and the same one in all runs."""

from __future__ import annotations

from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.nodes import Query
from millstream.run.malformed_writers import record_malformed_writers

_SOURCES = """
CREATE SOURCE s (id INT, t TIMESTAMP, WATERMARK FOR t AS t)
  WITH ('connector' = 'file', 'path' = 's', 'dead_letter.sink' = 'bad');
CREATE SOURCE r (id INT) WITH ('connector' = 'file', 'path' = 'r');
CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad');
"""


def _queries(*sinks: str, source: str = "s", clauses: str = "") -> tuple[Query, ...]:
    made = (
        f"CREATE SINK {name} WITH ('connector' = 'console') AS SELECT id FROM {source} {clauses};"
        for name in sinks
    )
    return group_into_queries(build_job(_SOURCES + "\n".join(made)))


def test_the_first_query_of_the_first_run_writes_in_all_runs(tmp_path):
    assert record_malformed_writers(tmp_path, _queries("b", "c")) == {"s": "b"}
    assert record_malformed_writers(tmp_path, _queries("a", "b", "c")) == {"s": "b"}
    assert record_malformed_writers(tmp_path, _queries("a", "c")) == {"s": "a"}


def test_dead_letters_without_a_sink_are_written_by_each_query(tmp_path):
    assert record_malformed_writers(tmp_path, _queries("a", "b", source="r")) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_query_that_stops_at_malformed_records_does_not_write_them(tmp_path):
    native = "WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY id WITH ('engine' = 'native')"
    queries = (*_queries("a", clauses=native), *_queries("b"))
    assert record_malformed_writers(tmp_path, queries) == {"s": "b"}
