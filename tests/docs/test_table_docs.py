"""The jobs in the docs of tables and databases can be planned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream.plan.build.job import build_job

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.DOTALL | re.MULTILINE)
CONNECTORS = ("delta", "iceberg", "sqlite", "database")
FILES = """CREATE SOURCE orders (id BIGINT, amount DOUBLE, t TIMESTAMP)
WITH ('connector' = 'file', 'path' = 'in');
"""
JOBS = [
    block
    for page in ("lake-tables.md", "12-sources-and-sinks.md")
    for block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    if any(f"'connector' = '{name}'" in block for name in CONNECTORS)
]


@pytest.mark.parametrize("sql", JOBS)
def test_a_job_of_the_docs_can_be_planned(sql: str) -> None:
    job = build_job(sql if "CREATE SOURCE" in sql else FILES + sql)
    assert len(job.pipelines) == sql.count("CREATE SINK")


def test_each_connector_has_a_job_in_the_docs() -> None:
    assert all(any(f"'connector' = '{name}'" in sql for sql in JOBS) for name in CONNECTORS)
