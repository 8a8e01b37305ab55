"""Runs of projects, and the snapshots that make them repeatable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from millstream.catalog.model.datasets import (
    Column,
    DataFormat,
    ResolverRef,
    TemporalMode,
    VersionFile,
)
from millstream.catalog.model.periods import Period
from millstream.catalog.model.projects import ProjectOutput, ProjectOverride, UpdateOperation


class RunStatus(StrEnum):
    """A run whose lease expires has failed, with the error code MS-CATALOG-LEASE."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class ResolverSource(StrEnum):
    """Which setting chose the resolver, in order of precedence."""

    PROJECT_OVERRIDE = "project_override"
    DATASET_RESOLVER = "dataset_resolver"
    SYSTEM_DEFAULT = "system_default"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSnapshot:
    """The version of a dataset that a run reads, and where it was resolved to.

    `key` identifies the rows of a period. It is empty if the files are not those that were
    published, or their key was not checked.
    """

    dataset_id: UUID
    dataset_name: str
    dataset_version: int
    table_name: str
    temporal_mode: TemporalMode
    resolver_source: ResolverSource
    resolver: ResolverRef
    format: DataFormat
    location: str
    schema: tuple[Column, ...]
    content_hash: str | None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    files: tuple[VersionFile, ...] = ()
    key: tuple[str, ...] = ()

    @property
    def reproducible(self) -> bool:
        """Whether the same rows can be read again and verified."""
        return self.content_hash is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinDatasetSnapshot(DatasetSnapshot):
    """The dataset of one join: `alias` in the operation with the index `operation`."""

    operation: int
    alias: str


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What the values of expressions depend on beside the data. A replay sets the time zone of the
    session and ANSI mode; versions are named if its result is another one."""

    spark_version: str
    millstream_version: str
    session_time_zone: str
    ansi_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverSnapshot:
    """Everything that a run depends on, recorded before it executes. A replay reads only this."""

    input_dataset_id: UUID
    input_dataset_version: int
    input: DatasetSnapshot
    join_datasets: tuple[JoinDatasetSnapshot, ...]
    period: Period
    operations: tuple[UpdateOperation, ...]
    resolver_overrides: tuple[ProjectOverride, ...]
    output: ProjectOutput
    environment: RunEnvironment

    @property
    def reproducible(self) -> bool:
        """Whether every dataset of the run is."""
        return self.input.reproducible and all(each.reproducible for each in self.join_datasets)


@dataclass(frozen=True, slots=True)
class Lease:
    """The process that executes a run, and until when it is considered alive."""

    owner: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run has written. `content_hash` does not depend on the order of rows."""

    location: str
    content_hash: str
    row_count: int
    schema: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run failed: the code and the text of the error."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of a project for a period. `replay_of` is the run that a replay repeats.

    `output` is the location that only this run may write while it is running; None for a run
    that replaces no output, such as a replay.
    """

    id: UUID
    project: str
    project_revision: int
    period: str
    status: RunStatus
    started_at: datetime
    lease: Lease
    output: str | None = None
    replay_of: UUID | None = None
    snapshot: ResolverSnapshot | None = None
    result: RunResult | None = None
    failure: RunFailure | None = None
    finished_at: datetime | None = None
