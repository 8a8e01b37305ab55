"""How a catalog is read and written. Reading and writing are separate on purpose: what resolves
and validates gets a reader and cannot change anything."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol
from uuid import UUID

from millstream.catalog.model.datasets import (
    Dataset,
    DatasetKey,
    DatasetSummary,
    DatasetVersion,
    Status,
    Table,
    VersionContent,
    VersionFile,
)
from millstream.catalog.model.definitions import Definitions
from millstream.catalog.model.periods import Period
from millstream.catalog.model.projects import Project
from millstream.catalog.model.runs import (
    ResolverSnapshot,
    Run,
    RunFailure,
    RunResult,
    RunStatus,
)


class CatalogReader(Protocol):
    """Reads a catalog. `find_…` return None for what does not exist."""

    def at_one_time(self) -> AbstractContextManager[CatalogReader]:
        """Gives a reader that sees the catalog as it is at one moment, whatever others change
        meanwhile. Use it briefly: it may keep others from writing."""

    def find_dataset(self, key: DatasetKey) -> Dataset | None: ...

    def datasets(
        self, *, status: Status | None = None, after: str | None = None, limit: int | None = None
    ) -> list[DatasetSummary]:
        """Returns datasets by name, beginning after the name `after`."""

    def dataset_names(self) -> list[str]: ...

    def find_version(self, dataset_id: UUID, number: int) -> DatasetVersion | None: ...

    def find_latest_version(self, dataset_id: UUID) -> DatasetVersion | None:
        """Returns the active version with the greatest number."""

    def versions(self, dataset_id: UUID) -> list[DatasetVersion]:
        """Returns all versions of a dataset, the newest first."""

    def files(self, dataset_id: UUID, number: int) -> tuple[VersionFile, ...]:
        """Returns the files of a version by path."""

    def find_period(self, identifier: str) -> Period | None: ...

    def periods(self, *, level: str | None = None) -> list[Period]:
        """Returns periods by start; where two start together, the longer one first."""

    def find_project(self, name: str) -> Project | None: ...

    def projects(self) -> list[Project]: ...

    def find_run(self, run_id: UUID) -> Run | None: ...

    def runs(
        self,
        *,
        project: str | None = None,
        period: str | None = None,
        status: RunStatus | None = None,
        limit: int | None = None,
    ) -> list[Run]:
        """Returns runs, the newest first."""

    def definitions(self) -> Definitions:
        """Returns all definitions, as they are at one moment."""


class CatalogWriter(Protocol):
    """Changes a catalog. Each call is one transaction: it takes effect completely, or raises a
    `CatalogError` and changes nothing."""

    def apply(self, changes: Definitions) -> None:
        """Stores definitions in place of those with the same ID, identifier or name.

        Raises MS-CATALOG-CONFLICT if the catalog no longer has the revision of the changes, and
        MS-CATALOG-CHANGE if a dataset that has versions would get another temporal mode.
        """

    def publish(
        self,
        dataset_id: UUID,
        content: VersionContent,
        files: tuple[VersionFile, ...],
        *,
        table: Table | None = None,
    ) -> DatasetVersion:
        """Adds a version with the next number. `table` is the one that the content was validated
        against.

        Raises MS-CATALOG-PUBLISHED if a version has the same content hash, and MS-CATALOG-CONFLICT
        if the dataset has another table now.
        """

    def set_dataset_status(self, dataset_id: UUID, status: Status) -> Dataset: ...

    def set_version_status(
        self, dataset_id: UUID, number: int, status: Status
    ) -> DatasetVersion: ...

    def activate_project(self, name: str, revision: int) -> Project:
        """Makes a project active. Raises MS-CATALOG-CONFLICT if it has another revision now."""

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
        """Adds a run that is running, after expiring runs whose lease has ended.

        Raises MS-CATALOG-RUNNING if another run is writing to the same output.
        """

    def record_snapshot(self, run_id: UUID, owner: str, snapshot: ResolverSnapshot) -> Run:
        """Stores what a run depends on. It can be recorded once."""

    def renew_lease(self, run_id: UUID, owner: str, lease_seconds: float) -> Run:
        """Extends the lease of a run. Raises MS-CATALOG-LEASE if it is no longer running, or has
        another owner; all calls below do the same, and `record_snapshot`."""

    def record_result(self, run_id: UUID, owner: str, result: RunResult) -> Run:
        """Stores what a run has written, before it replaces its output. If the run then ends before
        `finish_run`, its output shows whether it has succeeded."""

    def finish_run(self, run_id: UUID, owner: str, result: RunResult) -> Run: ...

    def fail_run(self, run_id: UUID, owner: str, failure: RunFailure) -> Run: ...

    def expire_runs(self, now: datetime | None = None) -> list[Run]:
        """Marks running runs whose lease has ended as failed, and returns them. A run whose result
        is recorded and whose output is in place has succeeded."""
