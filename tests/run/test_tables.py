"""Reference tables of a job, without Spark."""

from __future__ import annotations

from typing import Any, cast

import pytest

from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.plan.nodes.traversal import reference_tables_of
from millstream.run.tables import JobTables

JOB = """
CREATE SOURCE orders (id STRING) WITH ('connector' = 'memory');
CREATE TABLE rates (id STRING PRIMARY KEY, rate DOUBLE) WITH ('connector' = 'memory');
CREATE SINK out WITH ('connector' = 'console') AS
SELECT o.id, r.rate FROM orders o JOIN rates r ON o.id = r.id;
"""


def test_a_table_in_memory_has_no_rows_outside_of_tests(tmp_path):
    [table] = reference_tables_of(build_job(JOB))
    tables = JobTables(cast("Any", None), tmp_path, tmp_path)
    with pytest.raises(PlanError) as caught:
        tables.refresh(table, activation_delay=0)
    assert caught.value.code == "MS-PLAN-NO-TABLE"
    assert caught.value.cause.startswith("the table rates has no rows")
    assert caught.value.place is not None
    assert caught.value.place.line == 3
