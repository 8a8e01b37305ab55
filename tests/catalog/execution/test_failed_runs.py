"""Runs whose datasets or files have changed, and runs that must not replace an output."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.month_end import (
    CUSTOMERS,
    DOUBLED_RESULT,
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
from millstream.catalog.execution.output import write_rows
from millstream.catalog.execution.validation import InvalidProjectError
from millstream.catalog.model import Assignment, Cardinality, RunStatus, Status, UpdateOperation
from millstream.catalog.publishing.prepare import prepare
from millstream.catalog.store.open import open_catalog
from millstream.catalog.store.writer import DatabaseWriter
from millstream.catalog.stream_tables import StreamTables
from millstream.errors import CatalogError, MillstreamError, ProjectError, ProjectRunError


def require_failed(month_end: MonthEnd, error: MillstreamError) -> None:
    """Asserts that the latest run failed with an error, has a snapshot and left no other folder."""
    latest = runs(month_end)[0]
    assert latest.status is RunStatus.FAILED
    assert latest.failure is not None
    assert latest.failure.code == error.code
    assert latest.snapshot is not None
    assert [each.name for each in (month_end.base / "out").glob(".*")] == []


def unreachable(*_: Any) -> None:
    raise CatalogError("MS-CATALOG-DATABASE", "the database cannot be reached.")


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


def test_a_file_that_disappeared_after_publishing_fails_the_run(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    run(month_end, spark)
    (month_end.base / "data/fx/v1.parquet").unlink()
    with pytest.raises(ProjectRunError, match=r"fx v1: .*v1\.parquet .* not exist") as caught:
        month_end.runner(spark).run("month-end", "2026-01")
    assert caught.value.code == "MS-PROJECT-FILE-MISSING"
    require_failed(month_end, caught.value)
    assert month_end.output() == RESULT


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
    assert month_end.output() == RESULT


def test_a_file_that_changed_under_its_hash_is_rejected(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    first = run(month_end, spark)
    path = month_end.base / "data/fx/v1.parquet"
    content, times = path.read_bytes(), path.stat()
    path.write_bytes(content + b" ")
    runner = month_end.runner(spark)
    with pytest.raises(ProjectRunError, match=r"MS-PROJECT-FILE-CHANGED.*instead of .* bytes"):
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
    assert month_end.output() == DOUBLED_RESULT


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
    assert month_end.output() == RESULT
    assert list((month_end.base / "out").glob(".*")) == []


def test_a_run_whose_output_is_replaced_is_never_failed(
    spark: SparkSession, month_end: MonthEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    month_end.apply()
    month_end.runner(spark).activate("month-end")
    with monkeypatch.context() as patch:
        patch.setattr(DatabaseWriter, "finish_run", unreachable)
        with pytest.raises(CatalogError, match="cannot be reached"):
            month_end.runner(spark).run("month-end", "2026-01")
    assert month_end.output() == RESULT
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


def test_the_output_of_another_project_is_not_replaced(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply()
    first = run(month_end, spark)
    month_end.apply(name="other")
    runner = month_end.runner(spark)
    runner.activate("other")
    with pytest.raises(ProjectError, match=rf"project month-end \(run {first.id}\)") as caught:
        runner.run("other", "2026-01")
    assert caught.value.code == "MS-PROJECT-OUTPUT"
    assert month_end.output() == RESULT


def test_a_run_that_failed_cannot_be_replayed(spark: SparkSession, month_end: MonthEnd) -> None:
    month_end.apply(UpdateOperation((), (Assignment("amount", "amount / (id - 1)"),)))
    with pytest.raises(ProjectRunError, match=r"MS-PROJECT-FAILED.*Division by zero"):
        run(month_end, spark)
    (only,) = runs(month_end)
    require_failed(month_end, ProjectRunError("MS-PROJECT-FAILED", ""))
    with pytest.raises(ProjectError, match=r"MS-PROJECT-REPLAY-STATUS.*it is failed"):
        month_end.runner(spark).replay(only.id)


def test_a_join_against_its_cardinality_fails_the_run(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    one = replace(SEGMENT, expected_cardinality=Cardinality.MANY_TO_ONE)
    month_end.apply(UpdateOperation((FX, one), (USD, SEGMENT_OF)))
    run(month_end, spark)
    assert month_end.output() == RESULT
    overlap = [*CUSTOMERS, (10, "gold", date(2025, 12, 1), None)]
    month_end.publish("customers", overlap)
    with pytest.raises(ProjectRunError, match=r"customer = 10 \(2 rows\)") as caught:
        month_end.runner(spark).run("month-end", "2026-01")
    assert caught.value.code == "MS-PROJECT-CARDINALITY"
    require_failed(month_end, caught.value)
