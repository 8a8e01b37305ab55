"""The invariants of the data model of runtime joins, one test each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.catalog import month_end as definitions
from tests.catalog.execution.month_end import FX, NEW_RATES, SEGMENT, USD, MonthEnd
from tests.catalog.samples import ENVIRONMENT

from millstream.catalog.definitions.load import load_definitions
from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.execution.snapshot import SnapshotBuilder, choose_versions
from millstream.catalog.execution.validation import InvalidProjectError
from millstream.catalog.model import Assignment, ResolverSnapshot, RuntimeJoin, UpdateOperation
from millstream.errors import CatalogError
from millstream.values import JoinType


def resolve(month_end: MonthEnd, *operations: UpdateOperation) -> ResolverSnapshot:
    """Returns the snapshot that a run for January has."""
    project = month_end.apply(*operations)
    reader = month_end.catalog.reader
    period = reader.find_period("2026-01")
    assert period is not None
    builder = SnapshotBuilder(ResolverRegistry(month_end.base), project, period, ENVIRONMENT)
    return builder.build(choose_versions(reader, project))


def test_the_snapshot_contains_an_entry_for_every_join_in_every_operation(
    month_end: MonthEnd,
) -> None:
    again = replace(FX, alias="again", dataset=month_end.ids["fx"], dataset_version=1)
    operations = (
        UpdateOperation((FX, SEGMENT), (USD,)),
        UpdateOperation(),
        UpdateOperation((again, FX)),
    )
    month_end.publish("fx", NEW_RATES)
    found = resolve(month_end, *operations).join_datasets
    assert [(each.operation, each.alias, each.dataset_version) for each in found] == [
        (0, "fx", 2),
        (0, "c", 1),
        (2, "again", 1),
        (2, "fx", 2),
    ]


def test_resolved_versions_are_immutable_for_a_run(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    runner = month_end.runner(spark)
    runner.activate("month-end")
    first = runner.run("month-end", "2026-01")
    month_end.publish("fx", NEW_RATES)
    again = runner.replay(first.id)
    assert again.snapshot == first.snapshot
    assert month_end.catalog.reader.find_run(first.id) == first
    assert again.result is not None
    assert first.result is not None
    assert again.result.content_hash == first.result.content_hash
    with pytest.raises(CatalogError, match="MS-CATALOG-LEASE"):
        month_end.catalog.writer.record_snapshot(first.id, runner.owner, resolve(month_end))


def test_aliases_are_scoped_to_their_operation(spark: SparkSession, month_end: MonthEnd) -> None:
    other = RuntimeJoin("fx", "customers", "customer = fx.id")
    month_end.apply(
        UpdateOperation((FX,), (USD,)),
        UpdateOperation((other,), (Assignment("segment", "fx.segment"),)),
    )
    runner = month_end.runner(spark)
    runner.activate("month-end")
    runner.run("month-end", "2026-01")
    assert [row[5:] for row in month_end.output()] == [
        (150.0, "retail"),
        (100.0, "corporate"),
        (100.0, "retail"),
    ]
    month_end.apply(
        UpdateOperation((FX,), (USD,)), UpdateOperation((), (Assignment("rate", "fx.rate"),))
    )
    with pytest.raises(InvalidProjectError, match=r"Unknown column 'fx\.rate'"):
        runner.activate("month-end")


def test_period_filtering_uses_the_period_of_the_run_and_no_join_overrides_it(
    spark: SparkSession, month_end: MonthEnd, tmp_path: Path
) -> None:
    month_end.apply(UpdateOperation((FX, SEGMENT), (USD, Assignment("segment", "c.segment"))))
    runner = month_end.runner(spark)
    runner.activate("month-end")
    for period, expected in (("2026-01", 1.5), ("2026-02", 1.25)):
        runner.run("month-end", period)
        rates = {row[5] / row[3] for row in month_end.output(period) if row[2] == "EUR"}
        assert rates == {expected}
    text = definitions.PROJECTS.replace(
        "dataset_version: 2\n", "dataset_version: 2\n              period: 2026-02\n"
    )
    folder = definitions.write(tmp_path / "definitions", projects=text)
    with pytest.raises(CatalogError, match="'period' is unknown here") as caught:
        load_definitions(folder)
    assert caught.value.code == "MS-CATALOG-KEY"


def test_joins_are_applied_in_the_order_of_the_list(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    # The inner join removes rows before the full join adds the customers that match none.
    inner = replace(FX, join_type=JoinType.INNER, on=f"{FX.on} AND fx.from_currency = 'GBP'")
    full = replace(SEGMENT, join_type=JoinType.FULL)
    runner = month_end.runner(spark)
    found = {}
    for name, joins in (("inner first", (inner, full)), ("full first", (full, inner))):
        month_end.apply(UpdateOperation(joins, (Assignment("segment", "c.segment"),)))
        runner.activate("month-end")
        runner.run("month-end", "2026-01")
        rows = pq.read_table(month_end.base / "out" / "2026-01")
        found[name] = sorted(rows.column("segment").to_pylist())
    assert found == {"inner first": ["corporate", "retail"], "full first": ["corporate"]}
    first = replace(FX, on="fx.from_currency = c.segment")
    month_end.apply(UpdateOperation((first, SEGMENT)))
    with pytest.raises(InvalidProjectError, match=r"Unknown column 'c\.segment'"):
        runner.activate("month-end")
