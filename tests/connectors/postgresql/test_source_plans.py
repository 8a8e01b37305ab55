"""Plans over PostgreSQL sources: changelogs, changes as rows, and properties that do not fit."""

from __future__ import annotations

import pytest

from millstream.connectors.postgresql.slots import slot_name
from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job

PAYMENTS = """CREATE SOURCE payments (id BIGINT, t TIMESTAMP, WATERMARK FOR t AS t)
WITH ('connector' = 'memory');
"""


def source(columns: str, mode: str = "cdc", kind: str = "SOURCE") -> str:
    return (
        f"CREATE {kind} rows ({columns}) WITH ('connector' = 'postgresql', "
        f"'url' = 'postgresql://localhost/db', 'mode' = '{mode}');\n"
    )


def sink(query: str) -> str:
    return f"CREATE SINK out WITH ('connector' = 'console') AS {query};"


def rejection(text: str) -> MillstreamError:
    with pytest.raises(MillstreamError) as raised:
        build_job(text)
    return raised.value


def test_a_slot_has_the_name_of_its_source_and_checkpoint() -> None:
    assert (
        slot_name("Orders of €", "0123456789abcdef0123")
        == "millstream_orders_of___0123456789abcdef"
    )


@pytest.mark.parametrize(
    ("declared", "properties", "code"),
    [
        ("id BIGINT", "", "MS-PROP-MISSING"),
        ("id BIGINT", ", 'mode' = 'log'", "MS-PROP-VALUE"),
        ("id BIGINT", ", 'mode' = 'incremental'", "MS-PROP-MISSING"),
        ("id BIGINT", ", 'mode' = 'snapshot', 'slot.name' = 's'", "MS-PROP-UNUSED"),
        ("id BIGINT", ", 'mode' = 'snapshot', 'max.rows.per.batch' = '5'", "MS-PROP-UNUSED"),
        ("id BIGINT, _offset BIGINT", ", 'mode' = 'cdc'", "MS-PROP-POSTGRESQL"),
    ],
)
def test_properties_that_do_not_fit_are_rejected(declared: str, properties: str, code: str) -> None:
    job = (
        f"CREATE SOURCE rows ({declared}) WITH ('connector' = 'postgresql', "
        f"'url' = 'postgresql://localhost/db'{properties});\n"
        "CREATE SINK out WITH ('connector' = 'noop') AS SELECT id FROM rows;"
    )
    with pytest.raises(MillstreamError) as raised:
        build_job(job)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("columns", "mode", "retracts"),
    [
        ("id BIGINT", "cdc", True),
        ("id BIGINT, _op STRING", "cdc", False),
        ("id BIGINT", "incremental', 'incremental.column' = 'id", False),
        ("id BIGINT", "snapshot", False),
    ],
)
def test_changes_are_a_changelog_unless_their_kind_is_a_column(
    columns: str, mode: str, retracts: bool
) -> None:
    (pipeline,) = build_job(source(columns, mode) + sink("SELECT id FROM rows")).pipelines
    assert (pipeline.mode == "retract") is retracts


def test_operators_that_do_not_retract_reject_a_changelog() -> None:
    query = "SELECT p.id FROM payments p JOIN rows r ON p.id = r.id AND r.t BETWEEN p.t AND p.t"
    columns = "id BIGINT, t TIMESTAMP, WATERMARK FOR t AS t"
    error = rejection(PAYMENTS + source(columns) + sink(query + " + INTERVAL 1 HOUR"))
    assert error.code == "MS-PLAN-RETRACT"
    assert "Declare the column _OP STRING in rows" in (error.fix or "")
    build_job(PAYMENTS + source("_OP STRING, " + columns) + sink(query + " + INTERVAL 1 HOUR"))


def test_a_changelog_has_no_system_columns() -> None:
    error = rejection(source("id BIGINT") + sink("SELECT id, _offset FROM rows"))
    assert error.code == "MS-PLAN-SYSTEM-COLUMN"
    assert "_OP STRING" in (error.fix or "")
    build_job(source("id BIGINT, _OP STRING") + sink("SELECT id, _offset, _timestamp FROM rows"))


def test_a_versioned_table_of_changes_needs_their_kind() -> None:
    columns = (
        "id BIGINT, _timestamp TIMESTAMP, PRIMARY KEY (id), WATERMARK FOR _timestamp AS _timestamp"
    )
    query = "SELECT p.id FROM payments p JOIN rows FOR SYSTEM_TIME AS OF p.t AS r ON p.id = r.id"
    error = rejection(PAYMENTS + source(columns, kind="TABLE") + sink(query))
    assert error.code == "MS-PROP-POSTGRESQL"
    build_job(PAYMENTS + source("_OP STRING, " + columns, kind="TABLE") + sink(query))
