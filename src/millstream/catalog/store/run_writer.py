"""Creates runs and records their progress, each change guarded by the lease of the run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa

from millstream.catalog.model import (
    ResolverSnapshot,
    Run,
    RunFailure,
    RunResult,
    RunStatus,
)
from millstream.catalog.output_marker import is_output_of
from millstream.catalog.store import rows, tables
from millstream.catalog.store.clock import Clock
from millstream.catalog.store.database import Database
from millstream.errors import CatalogError

_runs = tables.runs
_EXPIRED = RunFailure(
    "MS-CATALOG-LEASE", "the process that executed the run ended, or could not renew its lease."
)


@dataclass(frozen=True, slots=True)
class RunWriter:
    """The part of `CatalogWriter` that concerns runs."""

    database: Database
    clock: Clock

    def create_run(
        self,
        *,
        project: str,
        project_revision: int,
        period: str,
        owner: str,
        lease_seconds: float,
        output: str | None = None,
        replay_of: UUID | None = None,
    ) -> Run:
        run_id = uuid4()
        with self.database.write_transaction() as connection:
            _lock_output(connection, output)
            now = self.clock(connection)
            _expire(connection, now)
            _reject_second_writer(connection, output)
            connection.execute(
                sa.insert(_runs).values(
                    id=run_id,
                    project=project,
                    project_revision=project_revision,
                    period=period,
                    status=RunStatus.RUNNING.value,
                    started_at=now,
                    lease_owner=owner,
                    lease_expires_at=now + timedelta(seconds=lease_seconds),
                    output=output,
                    replay_of=replay_of,
                )
            )
            return _run(connection, run_id)

    def record_snapshot(self, run_id: UUID, owner: str, snapshot: ResolverSnapshot) -> Run:
        with self.database.write_transaction() as connection:
            run = _own_run(connection, run_id, owner)
            if run.snapshot is not None:
                raise CatalogError(
                    "MS-CATALOG-SNAPSHOT",
                    f"the run {run_id} has a snapshot already, and a snapshot does not change.",
                    fix="Start another run.",
                )
            return _update(connection, run_id, snapshot=rows.to_json(rows.SNAPSHOT, snapshot))

    def renew_lease(self, run_id: UUID, owner: str, lease_seconds: float) -> Run:
        with self.database.write_transaction() as connection:
            _own_run(connection, run_id, owner)
            expires_at = self.clock(connection) + timedelta(seconds=lease_seconds)
            return _update(connection, run_id, lease_expires_at=expires_at)

    def record_result(self, run_id: UUID, owner: str, result: RunResult) -> Run:
        with self.database.write_transaction() as connection:
            _own_run(connection, run_id, owner)
            return _update(connection, run_id, result=rows.to_json(rows.RESULT, result))

    def finish_run(self, run_id: UUID, owner: str, result: RunResult) -> Run:
        with self.database.write_transaction() as connection:
            _own_run(connection, run_id, owner)
            return _update(
                connection,
                run_id,
                status=RunStatus.SUCCEEDED.value,
                finished_at=self.clock(connection),
                result=rows.to_json(rows.RESULT, result),
            )

    def fail_run(self, run_id: UUID, owner: str, failure: RunFailure) -> Run:
        with self.database.write_transaction() as connection:
            run = _own_run(connection, run_id, owner)
            return _end(connection, run, self.clock(connection), failure)

    def expire_runs(self, now: datetime | None = None) -> list[Run]:
        with self.database.write_transaction() as connection:
            return _expire(connection, now or self.clock(connection))


def _expire(connection: sa.Connection, now: datetime) -> list[Run]:
    running = _runs.c.status == RunStatus.RUNNING.value
    query = sa.select(_runs.c.id).where(running, _runs.c.lease_expires_at < now)
    expired = connection.execute(query.order_by(_runs.c.id).with_for_update()).scalars().all()
    return [_end(connection, _run(connection, run_id), now, _EXPIRED) for run_id in expired]


def _end(connection: sa.Connection, run: Run, now: datetime, failure: RunFailure) -> Run:
    """Ends a run that has failed, or whose process is gone. A run that has replaced its output has
    succeeded."""
    if run.result is not None and is_output_of(Path(run.result.location), run.id):
        return _update(connection, run.id, status=RunStatus.SUCCEEDED.value, finished_at=now)
    return _update(
        connection,
        run.id,
        status=RunStatus.FAILED.value,
        finished_at=now,
        result=None,
        failure=rows.to_json(rows.FAILURE, failure),
    )


def _lock_output(connection: sa.Connection, output: str | None) -> None:
    """Makes runs that write to one output wait for each other while they are created."""
    if output is not None and connection.dialect.name == "postgresql":
        lock = sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(output, 0))
        connection.execute(sa.select(lock))


def _reject_second_writer(connection: sa.Connection, output: str | None) -> None:
    if output is None:
        return
    running = _runs.c.status == RunStatus.RUNNING.value
    row = connection.execute(sa.select(_runs).where(running, _runs.c.output == output)).first()
    if row is not None:
        raise CatalogError(
            "MS-CATALOG-RUNNING",
            f"the run {row.id} of {row.project} for {row.period} is writing to {output}.",
            fix="Wait until it has ended. If its process is gone, it counts as failed at "
            f"{row.lease_expires_at:%H:%M:%S} UTC, when its lease expires.",
        )


def _own_run(connection: sa.Connection, run_id: UUID, owner: str) -> Run:
    """Returns a run that is running and owned; until the transaction ends, others wait for it."""
    run = _run(connection, run_id, lock=True)
    if run.status is not RunStatus.RUNNING or run.lease.owner != owner:
        why = "is owned by another process"
        if run.status is not RunStatus.RUNNING:
            why = f"has {run.status.value} already"
        raise CatalogError(
            "MS-CATALOG-LEASE",
            f"the run {run_id} {why}, so this process can no longer change it.",
            fix="Run the project again.",
        )
    return run


def _run(connection: sa.Connection, run_id: UUID, *, lock: bool = False) -> Run:
    query = sa.select(_runs).where(_runs.c.id == run_id)
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise CatalogError("MS-CATALOG-UNKNOWN", f"there is no run {run_id}.")
    return rows.run_of(row)


def _update(connection: sa.Connection, run_id: UUID, **values: Any) -> Run:
    connection.execute(sa.update(_runs).where(_runs.c.id == run_id).values(**values))
    return _run(connection, run_id)
