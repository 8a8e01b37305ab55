"""Runs of the month-end example: results, snapshots, replays."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.month_end import (
    CUSTOMERS,
    FROM_FILES,
    FX,
    NEW_RATES,
    SEGMENT,
    SEGMENT_OF,
    USD,
    MonthEnd,
    write,
)

from millstream.catalog.execution import runner as module
from millstream.catalog.execution.output import write_rows
from millstream.catalog.execution.result_frame import result_frame
from millstream.catalog.execution.validation import InvalidProjectError
from millstream.catalog.model import (
    Assignment,
    Cardinality,
    ResolverRef,
    ResolverSource,
    Run,
    RunStatus,
    RuntimeJoin,
    Status,
    UpdateOperation,
)
from millstream.catalog.publishing.prepare import prepare
from millstream.catalog.store.open import OpenCatalog, open_catalog
from millstream.catalog.store.writer import DatabaseWriter
from millstream.catalog.stream_tables import StreamTables
from millstream.errors import CatalogError, MillstreamError, ProjectError, ProjectRunError

JANUARY = [
    (1, 10, "EUR", 100.0, "2026-01", 150.0, "retail"),
    (2, 11, "GBP", 50.0, "2026-01", 100.0, "corporate"),
    (3, 10, "JPY", 10_000.0, "2026-01", 100.0, "retail"),
]
DOUBLED = [(*row[:5], row[5] * 2, row[6]) for row in JANUARY]


def run(month_end: MonthEnd, spark: SparkSession, period: str = "2026-01") -> Run:
    runner = month_end.runner(spark)
    runner.activate("month-end")
    return runner.run("month-end", period)


def runs(month_end: MonthEnd) -> list[Run]:
    return month_end.catalog.reader.runs()


def test_the_example_of_month_end(spark: SparkSession, month_end: MonthEnd) -> None:
    write(month_end.base / "crm" / "2026-01.parquet", "customers", CUSTOMERS)
    month_end.apply(resolver_overrides=(FROM_FILES,))
    first = run(month_end, spark)
    assert month_end.output() == JANUARY
    assert first.status is RunStatus.SUCCEEDED
    assert first.result is not None
    assert first.result.row_count == 3

    month_end.publish("fx", NEW_RATES)
    runner = month_end.runner(spark)
    again = runner.replay(first.id)
    assert again.result is not None
    assert again.result.content_hash == first.result.content_hash
    assert month_end.output() == JANUARY  # a replay writes nothing

    second = runner.run("month-end", "2026-01")
    assert month_end.output() == DOUBLED
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
    assert month_end.output() == JANUARY
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
    assert month_end.output() == JANUARY


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


def test_a_dataset_that_is_disabled_after_activation_stops_a_run(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    runner = month_end.runner(spark)
    runner.activate("month-end")
    month_end.catalog.writer.set_dataset_status(month_end.ids["fx"], Status.DISABLED)
    cause = "Dataset fx is disabled and cannot be used in joins"
    with pytest.raises(InvalidProjectError, match=cause):
        runner.run("month-end", "2026-01")
    assert runs(month_end) == []
    assert not (month_end.base / "out").exists()


def failed(month_end: MonthEnd, error: MillstreamError) -> None:
    """The run failed with the error, has its snapshot, and left the output as it was."""
    latest = runs(month_end)[0]
    assert latest.status is RunStatus.FAILED
    assert latest.failure is not None
    assert latest.failure.code == error.code
    assert latest.snapshot is not None
    assert [each.name for each in (month_end.base / "out").glob(".*")] == []


def test_a_file_that_disappeared_after_publishing_fails_the_run(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    run(month_end, spark)
    (month_end.base / "data/fx/v1.parquet").unlink()
    with pytest.raises(ProjectRunError, match=r"fx v1: .*v1\.parquet .* not exist") as caught:
        month_end.runner(spark).run("month-end", "2026-01")
    assert caught.value.code == "MS-PROJECT-FILE-MISSING"
    failed(month_end, caught.value)
    assert month_end.output() == JANUARY


def test_a_file_that_disappears_while_it_is_read_fails_the_run(
    spark: SparkSession, month_end: MonthEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    month_end.apply()
    run(month_end, spark)

    def late(*given: Any) -> None:
        (month_end.base / "data/fx/v1.parquet").unlink()
        write_rows(*given)

    monkeypatch.setattr(module, "write_rows", late)
    with pytest.raises(ProjectRunError, match="disappeared while the run was reading it") as caught:
        month_end.runner(spark).run("month-end", "2026-01")
    assert caught.value.code == "MS-PROJECT-FILE-MISSING"
    assert runs(month_end)[0].status is RunStatus.FAILED
    assert month_end.output() == JANUARY


def test_a_file_that_changed_under_its_hash_is_rejected(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    first = run(month_end, spark)
    path = month_end.base / "data/fx/v1.parquet"
    content, times = path.read_bytes(), path.stat()
    path.write_bytes(content + b" ")
    runner = month_end.runner(spark)
    with pytest.raises(ProjectRunError, match=r"MS-PROJECT-FILE-CHANGED.*bytes, recorded are"):
        runner.replay(first.id)
    path.write_bytes(content)
    with pytest.raises(ProjectRunError, match="its modification time differs"):
        runner.replay(first.id)
    # The content is the same, and --verify compares content.
    assert runner.replay(first.id, verify_content=True).status is RunStatus.SUCCEEDED
    # The same size and time with other content passes the quick check only.
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(ProjectRunError, match="its content has another hash"):
        runner.replay(first.id, verify_content=True)


def test_a_file_added_to_a_published_folder_is_rejected(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    folder = month_end.base / "data/fx-folder"
    write(folder / "a.parquet", "fx", NEW_RATES)
    dataset = month_end.catalog.reader.find_dataset("fx")
    assert dataset is not None
    month_end.catalog.writer.publish(dataset.id, *prepare(dataset, str(folder)))
    month_end.apply()
    first = run(month_end, spark)
    tables = StreamTables(lambda: open_catalog(month_end.base / "catalog.db"))
    tables("fx", None)
    write(folder / "b.parquet", "fx", NEW_RATES)
    runner = month_end.runner(spark)
    added = r"MS-PROJECT-FILE-CHANGED.*its file b\.parquet is not recorded"
    with pytest.raises(ProjectRunError, match=added):
        runner.run("month-end", "2026-01")
    with pytest.raises(ProjectRunError, match=added):
        runner.replay(first.id, verify_content=True)
    with pytest.raises(ProjectRunError, match=added):
        tables("fx", None)
    assert month_end.output() == DOUBLED


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


def test_a_run_that_failed_cannot_be_replayed(spark: SparkSession, month_end: MonthEnd) -> None:
    month_end.apply(UpdateOperation((), (Assignment("amount", "amount / (id - 1)"),)))
    with pytest.raises(ProjectRunError, match=r"MS-PROJECT-FAILED.*Division by zero"):
        run(month_end, spark)
    (only,) = runs(month_end)
    failed(month_end, ProjectRunError("MS-PROJECT-FAILED", ""))
    with pytest.raises(ProjectError, match=r"MS-PROJECT-REPLAY-STATUS.*it is failed"):
        month_end.runner(spark).replay(only.id)


def test_two_runs_do_not_write_one_output_at_once(spark: SparkSession, month_end: MonthEnd) -> None:
    month_end.apply()
    runner = month_end.runner(spark)
    project = runner.activate("month-end")
    month_end.catalog.writer.create_run(
        project=project.name,
        project_revision=project.revision,
        period="2026-01",
        owner="another",
        lease_seconds=60,
        output=str(month_end.base / "out" / "2026-01"),
    )
    with pytest.raises(CatalogError, match="MS-CATALOG-RUNNING"):
        runner.run("month-end", "2026-01")
    assert runner.run("month-end", "2026-02").status is RunStatus.SUCCEEDED


def test_a_lost_lease_keeps_the_output(
    spark: SparkSession, month_end: MonthEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    month_end.apply()
    run(month_end, spark)

    def expire(*given: Any) -> None:
        write_rows(*given)
        month_end.catalog.writer.expire_runs(datetime.now(UTC) + timedelta(days=1))

    month_end.publish("fx", NEW_RATES)
    monkeypatch.setattr(module, "write_rows", expire)
    with pytest.raises(CatalogError, match="MS-CATALOG-LEASE"):
        month_end.runner(spark).run("month-end", "2026-01")
    assert month_end.output() == JANUARY
    assert list((month_end.base / "out").glob(".*")) == []


def unreachable(*_: Any) -> None:
    raise CatalogError("MS-CATALOG-DATABASE", "the database cannot be reached.")


def test_a_run_whose_output_is_replaced_is_never_failed(
    spark: SparkSession, month_end: MonthEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    month_end.apply()
    month_end.runner(spark).activate("month-end")
    with monkeypatch.context() as patch:
        patch.setattr(DatabaseWriter, "finish_run", unreachable)
        with pytest.raises(CatalogError, match="cannot be reached"):
            month_end.runner(spark).run("month-end", "2026-01")
    assert month_end.output() == JANUARY
    assert runs(month_end)[0].status is RunStatus.RUNNING
    month_end.catalog.writer.expire_runs(datetime.now(UTC) + timedelta(days=1))
    (ended,) = runs(month_end)
    assert ended.status is RunStatus.SUCCEEDED
    assert month_end.runner(spark).replay(ended.id).status is RunStatus.SUCCEEDED


def test_a_failure_that_cannot_be_recorded_is_a_note_of_the_error(
    spark: SparkSession, month_end: MonthEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    month_end.apply()
    runner = month_end.runner(spark)
    runner.activate("month-end")
    (month_end.base / "data/fx/v1.parquet").unlink()
    monkeypatch.setattr(DatabaseWriter, "fail_run", unreachable)
    with pytest.raises(ProjectRunError, match="MS-PROJECT-FILE-MISSING") as caught:
        runner.run("month-end", "2026-01")
    assert "was not recorded: MS-CATALOG-DATABASE" in caught.value.__notes__[-1]


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


def test_a_folder_that_no_run_has_written_is_not_replaced(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    mine = month_end.base / "out" / "2026-01" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("keep")
    with pytest.raises(ProjectError, match=r"MS-PROJECT-OUTPUT.*no run has written it"):
        run(month_end, spark)
    assert mine.read_text() == "keep"


def test_a_join_against_its_cardinality_fails_the_run(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    one = replace(SEGMENT, expected_cardinality=Cardinality.MANY_TO_ONE)
    month_end.apply(UpdateOperation((FX, one), (USD, SEGMENT_OF)))
    run(month_end, spark)
    assert month_end.output() == JANUARY
    overlap = [*CUSTOMERS, (10, "gold", date(2025, 12, 1), None)]
    month_end.publish("customers", overlap)
    with pytest.raises(ProjectRunError, match=r"customer = 10 \(2 rows\)") as caught:
        month_end.runner(spark).run("month-end", "2026-01")
    assert caught.value.code == "MS-PROJECT-CARDINALITY"
    failed(month_end, caught.value)


@pytest.mark.service
@pytest.mark.parametrize("catalog_url", ["postgresql"], indirect=True)
def test_the_catalog_of_a_run_can_be_in_postgresql(
    spark: SparkSession, catalog: OpenCatalog, tmp_path: Path
) -> None:
    month_end = MonthEnd.create(catalog, tmp_path)
    month_end.apply()
    first = run(month_end, spark)
    assert month_end.output() == JANUARY
    month_end.publish("fx", NEW_RATES)
    assert month_end.runner(spark).replay(first.id).status is RunStatus.SUCCEEDED
    assert [each.status for each in runs(month_end)] == [RunStatus.SUCCEEDED] * 2
