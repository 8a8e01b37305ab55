"""System columns of sources: arrival time, processing time, name, and those of records."""

from __future__ import annotations

import pytest

from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Select, Source
from millstream.plan.nodes.traversal import inputs_of, operators_of

FILE = "'connector' = 'file', 'path' = 'x'"
KAFKA = "'connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'b:1', 'format' = 'json'"
JOB = """
CREATE SOURCE a (k STRING, t TIMESTAMP, WATERMARK FOR t AS t) WITH ({});
CREATE SOURCE b (k STRING, _source STRING, t TIMESTAMP, WATERMARK FOR t AS t)
WITH ('connector' = 'memory');
CREATE STREAM s AS SELECT k FROM a;
CREATE SINK out AS {};
"""


def root_of(query: str, properties: str = FILE) -> Select:
    return build_job(JOB.format(properties, query)).pipelines[0].root


def error_of(query: str, properties: str = FILE) -> str:
    with pytest.raises(PlanError) as caught:
        root_of(query, properties)
    return str(caught.value)


def outputs_of(node: object) -> dict[str, str]:
    assert isinstance(node, Select)
    return {output.name: str(output.expression) for output in node.outputs}


def test_the_modification_time_of_a_file_is_its_timestamp() -> None:
    root = root_of("SELECT k, _Timestamp AS read FROM a WHERE _timestamp > '2026-01-01'")
    assert outputs_of(root) == {"k": "a.k", "read": "a._timestamp"}
    assert outputs_of(root.input) == {"k": "a.k", "t": "a.t", "_timestamp": "a._timestamp"}
    assert isinstance(root.input, Select)
    assert (root.input.time, isinstance(root.input.input, Source)) == ("t", True)


def test_every_source_has_its_name_and_times_of_arrival_and_processing() -> None:
    root = root_of("SELECT _SOURCE, _TIMESTAMP, _PROCESSING_TIME FROM a", "'connector' = 'memory'")
    found = outputs_of(root.input)
    assert found["_source"] == "'a'"
    assert found["_timestamp"] == found["_processing_time"] == "current_timestamp()"
    kinds = [column.type for column in root.columns]
    assert kinds == ["STRING", "TIMESTAMP", "TIMESTAMP"]


def test_a_record_of_kafka_has_more_columns() -> None:
    root = root_of("SELECT _PARTITION, _OFFSET, _KEY, _HEADERS, _TIMESTAMP FROM a", KAFKA)
    assert [column.type for column in root.columns] == [
        *("INT", "BIGINT", "BINARY", "MAP<STRING, BINARY>", "TIMESTAMP"),
    ]


def test_operators_and_joins_read_system_columns() -> None:
    root = root_of(
        "SELECT _source, count(*) AS n FROM a WHERE _timestamp > '2026-01-01' "
        "WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY _source"
    )
    (aggregate,) = operators_of(root)
    (side,) = inputs_of(aggregate)
    assert isinstance(side.node, Select)
    assert outputs_of(side.node.input)["_timestamp"] == "a._timestamp"
    joined = root_of(
        "SELECT a.k, a._processing_time AS done, _source FROM a "
        "JOIN b WITHIN INTERVAL 5 MINUTES ON a.k = b.k AND b.t >= a._timestamp - INTERVAL 1 DAY"
    )
    (join,) = operators_of(joined)
    left, right = inputs_of(join)
    assert outputs_of(left.node)["_processing_time"] == "current_timestamp()"
    assert isinstance(right.node, Source)  # its own column _source, which no system column hides


def test_a_computed_column_can_be_the_arrival_time() -> None:
    sql = (
        f"CREATE SOURCE a (k STRING, at AS _TIMESTAMP, WATERMARK FOR at AS at) WITH ({FILE}); "
        "CREATE SINK out AS SELECT k, at, _source FROM a"
    )
    root = build_job(sql).pipelines[0].root
    assert root.time == "at"
    assert outputs_of(root.input) == {"k": "a.k", "at": "a._timestamp", "_source": "a._source"}
    assert isinstance(root.input, Select)
    assert outputs_of(root.input.input)["_source"] == "'a'"


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (
            "SELECT _OFFSET FROM a",
            "MS-PLAN-SYSTEM-COLUMN at line 6, column 27: _OFFSET is a system column of records and "
            "changes, and the source a does not have it. Remove it.",
        ),
        (
            "SELECT b._partition FROM s JOIN b ON s.k = b.k WITH ('state.ttl' = 'forever')",
            "MS-PLAN-SYSTEM-COLUMN at line 6, column 27: _partition is a system column of records "
            "and changes, and the source b does not have it. Remove it.",
        ),
        (
            "SELECT _source FROM s",
            "MS-PLAN-SYSTEM-COLUMN at line 6, column 27: _source is a column of sources, and here "
            "the input is a query. Select _source in that query.",
        ),
        (
            "SELECT _timestamp FROM a JOIN b WITHIN INTERVAL 5 MINUTES ON a.k = b.k",
            "MS-PLAN-AMBIGUOUS at line 6, column 27: _timestamp is a column of a and of b. "
            "Write a._timestamp or b._timestamp.",
        ),
    ],
)
def test_system_columns_that_a_stream_does_not_have_are_rejected(query: str, error: str) -> None:
    assert error_of(query) == error


def test_rows_in_windows_have_system_columns() -> None:
    root = root_of("SELECT k, _timestamp, _WINDOW_END FROM a WINDOW TUMBLING(INTERVAL 1 HOUR)")
    assert outputs_of(root) == {
        "k": "a.k",
        "_timestamp": "a._timestamp",
        "_WINDOW_END": "a._window_end",
    }
    assert outputs_of(root.input)["_timestamp"] == "a._timestamp"
    joined = root_of(
        "SELECT a.k, a._timestamp AS x, b._timestamp AS y FROM a JOIN b ON a.k = b.k "
        "WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 10 MINUTES)"
    )
    (join,) = operators_of(joined)
    left, right = inputs_of(join)
    assert "_timestamp" in left.used
    assert "_timestamp" in right.used
