"""Runs of the month-end example: results, snapshots, replays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.month_end import (
    CUSTOMERS,
    DOUBLED_RESULT,
    FROM_FILES,
    FX,
    NEW_RATES,
    RESULT,
    SEGMENT,
    SEGMENT_OF,
    USD,
    MonthEnd,
    run,
    runs,
    write,
)

from millstream.catalog.execution import runner as module
from millstream.catalog.execution.result_frame import result_frame
from millstream.catalog.model import (
    Assignment,
    ResolverRef,
    ResolverSource,
    RunStatus,
    RuntimeJoin,
    Status,
    UpdateOperation,
)
from millstream.catalog.store.open import OpenCatalog
from millstream.errors import CatalogError, ProjectError, ProjectRunError


def test_the_example_of_month_end(spark: SparkSession, month_end: MonthEnd) -> None:
    write(month_end.base / "crm" / "2026-01.parquet", "customers", CUSTOMERS)
    month_end.apply(resolver_overrides=(FROM_FILES,))
    first = run(month_end, spark)
    assert month_end.output() == RESULT
    assert first.status is RunStatus.SUCCEEDED
    assert first.result is not None
    assert first.result.row_count == 3

    month_end.publish("fx", NEW_RATES)
    runner = month_end.runner(spark)
    again = runner.replay(first.id)
    assert again.result is not None
    assert again.result.content_hash == first.result.content_hash
    assert month_end.output() == RESULT  # a replay writes nothing

    second = runner.run("month-end", "2026-01")
    assert month_end.output() == DOUBLED_RESULT
    assert second.result is not None
    assert second.result.content_hash != first.result.content_hash
    assert runner.replay(first.id).result == again.result
    assert runner.replay(second.id).status is RunStatus.SUCCEEDED


def test_a_pinned_version_does_not_change_with_a_new_one(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    pinned = replace(FX, dataset_version=1)
    month_end.apply(UpdateOperation((pinned, SEGMENT), (USD, SEGMENT_OF)))
    first = run(month_end, spark)
    month_end.publish("fx", NEW_RATES)
    second = month_end.runner(spark).run("month-end", "2026-01")
    assert month_end.output() == RESULT
    assert first.result is not None
    assert second.result is not None
    assert first.result.content_hash == second.result.content_hash


def test_a_run_records_everything_that_it_reads(spark: SparkSession, month_end: MonthEnd) -> None:
    write(month_end.base / "crm" / "2026-01.parquet", "customers", CUSTOMERS)
    other = UpdateOperation((replace(FX, alias="gbp", on="true AND gbp.rate = 0.8"),))
    project = month_end.apply(
        UpdateOperation((FX, SEGMENT), (USD, SEGMENT_OF)), other, resolver_overrides=(FROM_FILES,)
    )
    month_end.publish("fx", NEW_RATES)
    snapshot = run(month_end, spark).snapshot
    assert snapshot is not None
    assert (snapshot.input_dataset_id, snapshot.input_dataset_version) == (
        month_end.ids["transactions"],
        1,
    )
    assert snapshot.period.identifier == "2026-01"
    assert snapshot.operations == project.operations
    assert snapshot.resolver_overrides == (FROM_FILES,)
    found = [
        (each.operation, each.alias, each.dataset_name, each.dataset_version, each.resolver_source)
        for each in snapshot.join_datasets
    ]
    default = ResolverSource.SYSTEM_DEFAULT
    # One entry for every join of every operation.
    assert found == [
        (0, "fx", "fx", 2, default),
        (0, "c", "customers", 1, ResolverSource.PROJECT_OVERRIDE),
        (1, "gbp", "fx", 2, default),
    ]
    fx, customers, _ = snapshot.join_datasets
    assert fx.location == str(month_end.base / "data/fx/v2.parquet")
    assert customers.location == str(month_end.base / "crm/2026-01.parquet")
    assert [each.name for each in customers.schema] == [
        *("id", "segment"),
        *("_period_from", "_period_to"),
    ]
    assert customers.content_hash is not None
    assert fx.files[0].size == Path(fx.location).stat().st_size


def test_the_resolver_of_a_dataset_is_recorded_as_the_source(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    catalog = month_end.catalog
    definitions = catalog.reader.definitions()
    fx = next(each for each in definitions.datasets if each.name == "fx")
    own = ResolverRef("path", {"template": "data/{name}/v{version}.parquet"})
    catalog.writer.apply(
        replace(definitions, datasets=(replace(fx, resolver=own),), periods=(), projects=())
    )
    month_end.apply()
    snapshot = run(month_end, spark).snapshot
    assert snapshot is not None
    assert snapshot.join_datasets[0].resolver_source is ResolverSource.DATASET_RESOLVER
    assert snapshot.join_datasets[0].resolver == own
    assert month_end.output() == RESULT


def test_every_dataset_is_filtered_by_the_period_of_the_run(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    run(month_end, spark, "2026-02")
    assert month_end.output("2026-02") == [(4, 11, "EUR", 10.0, "2026-02", 12.5, "corporate")]


def test_a_self_join_reads_the_version_of_the_input(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    before = RuntimeJoin("before", "transactions", "transactions.id = before.id + 1")
    change = Assignment("change", "amount - before.amount")
    month_end.apply(UpdateOperation((before,), (change,)))
    new = [(7, 10, "EUR", 1.0, "2026-01"), (8, 10, "EUR", 3.0, "2026-01")]
    month_end.publish("transactions", new)
    found = run(month_end, spark)
    assert [row[-1] for row in month_end.output()] == [None, 2.0]
    assert found.snapshot is not None
    assert found.snapshot.join_datasets[0].dataset_version == 2


def test_versions_are_those_of_the_moment_at_which_the_project_was_checked(
    spark: SparkSession, month_end: MonthEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    month_end.apply()
    runner = month_end.runner(spark)
    runner.activate("month-end")

    def change(_path: Path) -> None:
        month_end.publish("fx", NEW_RATES)
        month_end.catalog.writer.set_dataset_status(month_end.ids["customers"], Status.DISABLED)

    monkeypatch.setattr(module, "check_replaceable", change)
    snapshot = runner.run("month-end", "2026-01").snapshot
    assert snapshot is not None
    assert [each.dataset_version for each in snapshot.join_datasets] == [1, 1]


def test_a_project_must_be_active_to_run(spark: SparkSession, month_end: MonthEnd) -> None:
    month_end.apply()
    with pytest.raises(ProjectError, match="MS-PROJECT-DRAFT: project month-end is not active"):
        month_end.runner(spark).run("month-end", "2026-01")
    assert runs(month_end) == []


def test_an_unknown_project_period_or_run_is_an_error(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    runner = month_end.runner(spark)
    runner.activate("month-end")
    with pytest.raises(CatalogError, match=r"there is no project.*Did you mean month-end\?"):
        runner.run("monthend", "2026-01")
    with pytest.raises(CatalogError, match=r"there is no period.*Did you mean 2026-0\d\?"):
        runner.run("month-end", "2026-1")
    with pytest.raises(ProjectError, match="MS-PROJECT-RUN-UNKNOWN"):
        runner.replay(uuid4())
    assert runs(month_end) == []


def test_a_replay_with_another_result_is_an_error(
    spark: SparkSession, month_end: MonthEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    month_end.apply()
    first = run(month_end, spark)
    monkeypatch.setattr(module, "result_frame", lambda *given: result_frame(*given).limit(2))
    with pytest.raises(
        ProjectRunError, match=r"MS-PROJECT-REPLAY:.*another result: 2 rows.*3 rows"
    ):
        month_end.runner(spark).replay(first.id)
    assert runs(month_end)[0].status is RunStatus.FAILED
    assert runs(month_end)[0].replay_of == first.id


def test_a_replay_has_the_time_zone_and_ansi_mode_of_its_run(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    hour = Assignment("hour", "hour(timestamp_seconds(id * 3600))")
    month_end.apply(UpdateOperation((), (hour, Assignment("n", "try_cast(currency AS INT)"))))
    zone, ansi = "spark.sql.session.timeZone", "spark.sql.ansi.enabled"
    before = {name: spark.conf.get(name) for name in (zone, ansi)}
    spark.conf.set(zone, "Asia/Tokyo")
    try:
        first = run(month_end, spark)
        spark.conf.set(zone, "America/New_York")
        spark.conf.set(ansi, "false")
        again = month_end.runner(spark).replay(first.id)
        assert spark.conf.get(zone) == "America/New_York"
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))
    assert [row[-2] for row in month_end.output()] == [10, 11, 12]
    assert again.status is RunStatus.SUCCEEDED
    assert first.snapshot is not None
    environment = first.snapshot.environment
    assert environment.spark_version == spark.version
    assert (environment.session_time_zone, environment.ansi_enabled) == ("Asia/Tokyo", True)


@pytest.mark.service
@pytest.mark.parametrize("catalog_url", ["postgresql"], indirect=True)
def test_the_catalog_of_a_run_can_be_in_postgresql(
    spark: SparkSession, catalog: OpenCatalog, tmp_path: Path
) -> None:
    month_end = MonthEnd.create(catalog, tmp_path)
    month_end.apply()
    first = run(month_end, spark)
    assert month_end.output() == RESULT
    month_end.publish("fx", NEW_RATES)
    assert month_end.runner(spark).replay(first.id).status is RunStatus.SUCCEEDED
    assert [each.status for each in runs(month_end)] == [RunStatus.SUCCEEDED] * 2
