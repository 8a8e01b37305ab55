"""Properties of Delta and Iceberg tables are validated by planning, and explain shows limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.plan.explain.render import explain
from millstream.plan.installed_connectors import installed_connectors
from millstream.run.sink_conflicts import reject_sink_conflicts

SOURCE = """
CREATE SOURCE orders (id BIGINT, usr STRING, t TIMESTAMP, WATERMARK FOR t AS t) WITH ({});
"""
FILES = "'connector' = 'file', 'path' = 'in'"
DELTA = "'connector' = 'delta', 'path' = 'tables/orders'"
ICEBERG = "'connector' = 'iceberg', 'table' = 'db.orders'"


def job(sink: str, source: str = FILES, query: str = "SELECT id, usr FROM orders") -> str:
    return f"{SOURCE.format(source)} CREATE SINK out WITH ({sink}) AS {query};"


@pytest.mark.parametrize(
    ("sql", "code", "cause"),
    [
        (job("'connector' = 'delta'"), "MS-PROP-MISSING", "does not say its 'path'"),
        (job(DELTA + ", 'key.columns' = 'ids'"), "MS-PLAN-UNKNOWN-COLUMN", "ids is a key column"),
        (job(DELTA + ", 'partition.by' = 'x'"), "MS-PLAN-UNKNOWN-COLUMN", "partitioned by x"),
        (job(DELTA + ", 'start' = 'latest'"), "MS-PROP-UNUSED", "'start' of 'delta'"),
        (job("'connector' = 'noop'", DELTA + ", 'start' = 'now'"), "MS-PROP-VALUE", "'start'"),
        (
            job("'connector' = 'noop'", DELTA + ", 'start' = 'version'"),
            "MS-PROP-MISSING",
            "'start.version'",
        ),
        (
            job("'connector' = 'noop'", DELTA + ", 'start.timestamp' = '2026-01-15'"),
            "MS-PROP-UNUSED",
            "'start.timestamp' has no effect",
        ),
        (
            job("'connector' = 'noop'", DELTA + ", 'start' = 'timestamp', 'start.timestamp' = 'x'"),
            "MS-PROP-VALUE",
            "not a time in ISO 8601",
        ),
        (job("'connector' = 'iceberg', 'table' = 't'"), "MS-PROP-VALUE", "has no namespace"),
        (job(ICEBERG + ", 'catalog.token' = 'pw1'"), "MS-PROP-VALUE", "'catalog.token' is or has"),
        (
            job(ICEBERG + ", 'catalog.uri' = 'postgresql://me:pw1@h/d'"),
            "MS-PROP-VALUE",
            "'catalog.uri' is or has a secret",
        ),
        (job(ICEBERG + ", 'key.columns' = 'id'"), "MS-PROP-UNUSED", "'key.columns' belongs to"),
    ],
)
def test_contradictions_and_secrets_are_rejected(sql, code, cause):
    with pytest.raises(MillstreamError) as error:
        build_job(sql)
    assert error.value.code == code
    assert cause in error.value.cause
    assert "pw1" not in str(error.value)


def test_the_fix_for_a_secret_names_the_variable_of_its_catalog():
    with pytest.raises(MillstreamError) as error:
        build_job(job(ICEBERG + ", 'catalog' = 'prod', 'catalog.s3.secret-access-key' = 'x'"))
    assert "PYICEBERG_CATALOG__PROD__S3__SECRET_ACCESS_KEY" in error.value.fix


def test_explain_states_the_delivery_guarantee_and_the_limit_of_merges():
    def shown(sink: str) -> str:
        return " ".join(explain(build_job(job(sink))).replace("│", " ").split())

    appended, merged = shown(DELTA), shown(DELTA + ", 'key.columns' = 'id'")
    guarantee = "exactly once: a version of the table has the rows of a batch and its number"
    assert guarantee in appended
    assert "merged in the driver" not in appended
    assert guarantee in merged
    assert "rows are merged in the driver: the rows of a batch" in merged
    assert "exactly once: a commit to the table has the rows of a batch" in shown(ICEBERG)


def reject_conflicts(*sinks: str, source: str = FILES) -> None:
    statements = "".join(
        f"CREATE SINK out{number} WITH ({sink}) AS SELECT id FROM orders;"
        for number, sink in enumerate(sinks)
    )
    made = build_job(SOURCE.format(source) + statements)
    reject_sink_conflicts(made, Path("/job"), Path("/checkpoint"), installed_connectors())


def test_several_sinks_may_write_to_a_table_or_a_database_but_not_to_what_the_job_reads():
    reject_conflicts(DELTA, DELTA)
    database = "'connector' = 'sqlite', 'path' = 'shop.db'"
    reject_conflicts(database, database, source=database)
    with pytest.raises(MillstreamError, match="MS-PLAN-SHARED-SINK"):
        reject_conflicts(DELTA, source=DELTA)
    with pytest.raises(MillstreamError, match="MS-PLAN-SHARED-SINK"):
        reject_conflicts("'connector' = 'file', 'path' = 'tables/orders'", DELTA)
