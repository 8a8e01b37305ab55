"""Runs in a catalog: leases, snapshots, results, one writer of an output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.catalog.samples import snapshot

from millstream.catalog.model import (
    Column,
    Lease,
    Run,
    RunFailure,
    RunResult,
    RunStatus,
)
from millstream.catalog.output_marker import write_marker
from millstream.catalog.project import CatalogProject
from millstream.catalog.store import clock
from millstream.catalog.store.open import OpenCatalog
from millstream.catalog.store.writer import DatabaseWriter
from millstream.errors import CatalogError, ProjectError

NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)
RESULT = RunResult(
    location="/out", content_hash="sha256:1", row_count=3, schema=(Column("id", "bigint"),)
)


def _at(catalog: OpenCatalog, time: datetime) -> DatabaseWriter:
    return replace(catalog.writer, clock=lambda _: time)


def _create(writer: DatabaseWriter, output: str | None = "/out", owner: str = "a") -> Run:
    return writer.create_run(
        project="month_end",
        project_revision=1,
        period="2026-01",
        owner=owner,
        lease_seconds=60,
        output=output,
    )


def test_a_run_goes_from_snapshot_to_result(catalog: OpenCatalog):
    writer = _at(catalog, NOON)
    run = _create(writer)
    assert run.status is RunStatus.RUNNING
    assert run.lease == Lease("a", NOON + timedelta(seconds=60))
    recorded = writer.record_snapshot(run.id, "a", snapshot())
    assert recorded.snapshot == snapshot()
    done = writer.finish_run(run.id, "a", RESULT)
    assert (done.status, done.result, done.finished_at) == (RunStatus.SUCCEEDED, RESULT, NOON)
    assert catalog.reader.find_run(run.id) == done


@pytest.mark.parametrize("replaced", [True, False])
def test_a_run_that_ended_after_it_replaced_its_output_has_succeeded(
    catalog: OpenCatalog, tmp_path: Path, replaced: bool
):
    writer = _at(catalog, NOON)
    run = _create(writer)
    result = replace(RESULT, location=str(tmp_path))
    writer.record_result(run.id, "a", result)
    write_marker(tmp_path, run.id if replaced else uuid4())
    (ended,) = writer.expire_runs(NOON + timedelta(seconds=61))
    if replaced:
        assert (ended.status, ended.result, ended.failure) == (RunStatus.SUCCEEDED, result, None)
    else:
        assert (ended.status, ended.result) == (RunStatus.FAILED, None)


def test_a_snapshot_does_not_change(catalog: OpenCatalog):
    run = _create(catalog.writer)
    catalog.writer.record_snapshot(run.id, "a", snapshot())
    with pytest.raises(CatalogError, match="has a snapshot already") as error:
        catalog.writer.record_snapshot(run.id, "a", snapshot(None))
    assert error.value.code == "MS-CATALOG-SNAPSHOT"
    found = catalog.reader.find_run(run.id)
    assert found is not None
    assert found.snapshot == snapshot()


def test_a_second_run_cannot_write_to_the_output_of_a_running_one(catalog: OpenCatalog):
    run = _create(catalog.writer)
    with pytest.raises(CatalogError, match=f"the run {run.id} of month_end for 2026-01") as error:
        _create(catalog.writer, owner="b")
    assert error.value.code == "MS-CATALOG-RUNNING"
    _create(catalog.writer, output="/elsewhere")
    _create(catalog.writer, output=None)
    _create(catalog.writer, output=None)
    catalog.writer.finish_run(run.id, "a", RESULT)
    _create(catalog.writer, owner="b")


def test_a_run_whose_lease_has_ended_has_failed_and_frees_its_output(catalog: OpenCatalog):
    run = _create(_at(catalog, NOON))
    later = _at(catalog, NOON + timedelta(seconds=61))
    again = _create(later, owner="b")
    found = catalog.reader.find_run(run.id)
    assert found is not None
    assert found.failure is not None
    assert (found.status, found.failure.code) == (RunStatus.FAILED, "MS-CATALOG-LEASE")
    with pytest.raises(CatalogError, match="has failed already"):
        later.finish_run(run.id, "a", RESULT)
    assert later.finish_run(again.id, "b", RESULT).status is RunStatus.SUCCEEDED


def test_a_renewed_lease_keeps_a_run_alive(catalog: OpenCatalog):
    run = _create(_at(catalog, NOON))
    _at(catalog, NOON + timedelta(seconds=50)).renew_lease(run.id, "a", 60)
    assert catalog.writer.expire_runs(NOON + timedelta(seconds=100)) == []
    (expired,) = catalog.writer.expire_runs(NOON + timedelta(seconds=111))
    assert (expired.id, expired.status) == (run.id, RunStatus.FAILED)


def test_leases_in_postgresql_use_the_clock_of_the_server(catalog: OpenCatalog, monkeypatch):
    run = _create(catalog.writer)
    monkeypatch.setattr(clock, "utc_now", lambda: datetime.now(UTC) + timedelta(hours=1))
    expired = catalog.writer.expire_runs()
    renewed = _create(catalog.writer, output="/elsewhere")
    if catalog.database.location.is_sqlite:  # its processes share a computer
        assert [each.id for each in expired] == [run.id]
    else:
        assert expired == []
        assert abs(renewed.started_at - run.started_at) < timedelta(minutes=1)
        renewed = catalog.writer.renew_lease(run.id, "a", 60)
        assert renewed.lease.expires_at - run.lease.expires_at < timedelta(minutes=1)
        assert renewed.lease.expires_at.tzinfo is UTC


FAILURE = RunFailure("MS-RUN-FILE", "a.csv is gone.")
CHANGES: dict[str, Callable[[DatabaseWriter, UUID, str], Run]] = {
    "renew": lambda writer, run, owner: writer.renew_lease(run, owner, 60),
    "finish": lambda writer, run, owner: writer.finish_run(run, owner, RESULT),
    "fail": lambda writer, run, owner: writer.fail_run(run, owner, FAILURE),
    "snapshot": lambda writer, run, owner: writer.record_snapshot(run, owner, snapshot()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_only_the_owner_changes_a_run(catalog: OpenCatalog, change: str):
    run = _create(catalog.writer)
    with pytest.raises(CatalogError, match="is owned by another process") as error:
        CHANGES[change](catalog.writer, run.id, "b")
    assert error.value.code == "MS-CATALOG-LEASE"
    assert catalog.reader.find_run(run.id) == run
    assert CHANGES[change](catalog.writer, run.id, "a").id == run.id


def test_an_unknown_run_cannot_be_changed(catalog: OpenCatalog):
    with pytest.raises(CatalogError, match="there is no run") as error:
        catalog.writer.fail_run(uuid4(), "a", FAILURE)
    assert error.value.code == "MS-CATALOG-UNKNOWN"


def test_runs_are_listed_the_newest_first(catalog: OpenCatalog):
    ids = [
        _create(_at(catalog, NOON + timedelta(minutes=minute)), output=None).id
        for minute in range(3)
    ]
    runs = catalog.reader.runs(project="month_end", period="2026-01")
    assert [run.id for run in runs] == ids[::-1]
    assert [run.id for run in catalog.reader.runs(limit=1)] == ids[2:]
    assert [run.id for run in catalog.reader.runs(status=RunStatus.FAILED)] == ids[:1]
    assert catalog.reader.runs(project="other") == []


def test_a_failed_run_keeps_its_error(catalog: OpenCatalog):
    run = _create(catalog.writer)
    failed = catalog.writer.fail_run(run.id, "a", FAILURE)
    assert (failed.status, failed.failure) == (RunStatus.FAILED, FAILURE)


def test_runs_are_found_by_project_in_any_letter_case(catalog: OpenCatalog):
    run = _create(catalog.writer)
    assert catalog.reader.runs(project="Month_End") == [run]
    assert catalog.reader.runs(project="other") == []


def test_a_project_lists_runs_whose_lease_has_ended_as_failed(catalog: OpenCatalog):
    run = _create(_at(catalog, datetime(2020, 1, 1, tzinfo=UTC)))
    assert catalog.reader.runs() == [run]
    (found,) = CatalogProject("month_end", catalog.reader, catalog.writer).runs()
    assert found.status is RunStatus.FAILED


def test_a_project_does_not_replay_the_run_of_another(catalog: OpenCatalog):
    run = _create(catalog.writer)
    other = CatalogProject("other", catalog.reader, catalog.writer)
    with pytest.raises(ProjectError, match="is a run of the project month_end") as error:
        other.replay(run)
    assert error.value.code == "MS-PROJECT-RUN-UNKNOWN"
