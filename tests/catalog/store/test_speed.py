"""Reads of a large catalog use indexes, and take milliseconds."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from bench.catalog_reads import LIMIT_MS, measure_catalog
from tests.catalog.samples import add_dataset

from millstream.catalog.model import Status
from millstream.catalog.store.open import open_catalog


def test_reads_of_one_page_or_dataset_do_not_scan_all_versions(tmp_path):
    catalog = open_catalog(tmp_path / "catalog.db", create=True)
    fx = add_dataset(catalog, "fx")
    statements: list[tuple[str, Any]] = []
    sa.event.listen(
        catalog.database.engine,
        "before_cursor_execute",
        lambda *call: statements.append((call[2], call[3])),
    )
    catalog.reader.datasets(status=Status.ACTIVE, after="a", limit=10)
    catalog.reader.find_dataset("fx")
    catalog.reader.versions(fx.id)
    catalog.reader.find_latest_version(fx.id)
    catalog.reader.files(fx.id, 1)
    queries = [each for each in statements if each[0].startswith("SELECT")]
    assert len(queries) == 5
    with catalog.database.read_transaction() as connection:
        for query, parameters in queries:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", parameters)
            steps = [str(row[3]) for row in plan]
            assert not [step for step in steps if step.startswith("SCAN millstream_")], steps


@pytest.mark.slow
def test_list_show_and_resolve_take_less_than_50_ms():
    """Medians: the 99th percentiles depend on what else the machine does."""
    measured = measure_catalog(10_000, 20)
    assert {each["operation"]: each["p50_ms"] < LIMIT_MS for each in measured} == {
        "list 100": True,
        "show": True,
        "resolve latest": True,
        "resolve pinned": True,
    }
