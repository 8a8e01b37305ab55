"""Reads a catalog from its database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from millstream.catalog.model import (
    Dataset,
    DatasetKey,
    DatasetSummary,
    DatasetVersion,
    Definitions,
    Period,
    Project,
    Run,
    RunStatus,
    Status,
    TemporalMode,
    VersionFile,
)
from millstream.catalog.store import rows, tables
from millstream.catalog.store.database import Database

_versions = tables.versions


@dataclass(frozen=True, slots=True)
class DatabaseReader:
    """Implements `CatalogReader`. With a connection, everything is read in its transaction."""

    database: Database
    connection: sa.Connection | None = None

    @contextmanager
    def at_one_time(self) -> Iterator[DatabaseReader]:
        with self._transaction() as connection:
            yield replace(self, connection=connection)

    def find_dataset(self, key: DatasetKey) -> Dataset | None:
        row = self._one(sa.select(tables.datasets.c.definition).where(matches(key)))
        return rows.DATASET.validate_json(row.definition) if row else None

    def datasets(
        self, *, status: Status | None = None, after: str | None = None, limit: int | None = None
    ) -> list[DatasetSummary]:
        return [_summary(row) for row in self._all(_summaries(status, after, limit))]

    def dataset_names(self) -> list[str]:
        query = sa.select(tables.datasets.c.name).order_by(tables.datasets.c.name_key)
        return [row.name for row in self._all(query)]

    def find_version(self, dataset_id: UUID, number: int) -> DatasetVersion | None:
        if number.bit_length() > 31:  # beyond the type of the column
            return None
        query = sa.select(_versions).where(
            _versions.c.dataset_id == dataset_id, _versions.c.number == number
        )
        row = self._one(query)
        return rows.version_of(row) if row else None

    def find_latest_version(self, dataset_id: UUID) -> DatasetVersion | None:
        row = self._one(
            sa.select(_versions)
            .where(_versions.c.dataset_id == dataset_id, _versions.c.status == Status.ACTIVE.value)
            .order_by(_versions.c.number.desc())
            .limit(1)
        )
        return rows.version_of(row) if row else None

    def versions(self, dataset_id: UUID) -> list[DatasetVersion]:
        query = sa.select(_versions).where(_versions.c.dataset_id == dataset_id)
        return [
            rows.version_of(row) for row in self._all(query.order_by(_versions.c.number.desc()))
        ]

    def files(self, dataset_id: UUID, number: int) -> tuple[VersionFile, ...]:
        files = tables.version_files
        query = sa.select(files).where(files.c.dataset_id == dataset_id, files.c.number == number)
        return tuple(rows.file_of(row) for row in self._all(query.order_by(files.c.path)))

    def find_period(self, identifier: str) -> Period | None:
        periods = tables.periods
        query = sa.select(periods.c.definition).where(periods.c.identifier == identifier)
        row = self._one(query)
        return rows.PERIOD.validate_json(row.definition) if row else None

    def periods(self, *, level: str | None = None) -> list[Period]:
        periods = tables.periods
        query = sa.select(periods.c.definition).order_by(
            periods.c.start_date, periods.c.end_date.desc(), periods.c.identifier
        )
        if level is not None:
            query = query.where(periods.c.level == level)
        return [rows.PERIOD.validate_json(row.definition) for row in self._all(query)]

    def find_project(self, name: str) -> Project | None:
        projects = tables.projects
        query = sa.select(projects.c.definition).where(projects.c.name_key == name.lower())
        row = self._one(query)
        return rows.PROJECT.validate_json(row.definition) if row else None

    def projects(self) -> list[Project]:
        query = sa.select(tables.projects.c.definition).order_by(tables.projects.c.name_key)
        return [rows.PROJECT.validate_json(row.definition) for row in self._all(query)]

    def find_run(self, run_id: UUID) -> Run | None:
        row = self._one(sa.select(tables.runs).where(tables.runs.c.id == run_id))
        return rows.run_of(row) if row else None

    def runs(
        self,
        *,
        project: str | None = None,
        period: str | None = None,
        status: RunStatus | None = None,
        limit: int | None = None,
    ) -> list[Run]:
        runs = tables.runs
        query = sa.select(runs).order_by(runs.c.started_at.desc(), runs.c.id).limit(limit)
        if project is not None:
            query = query.where(sa.func.lower(runs.c.project) == project.lower())
        if period is not None:
            query = query.where(runs.c.period == period)
        if status is not None:
            query = query.where(runs.c.status == status.value)
        return [rows.run_of(row) for row in self._all(query)]

    def definitions(self) -> Definitions:
        with self._transaction() as connection:
            revision = connection.execute(sa.select(tables.catalog.c.revision)).scalar_one()
            datasets, periods, projects = (
                connection.execute(sa.select(table.c.definition).order_by(key)).scalars().all()
                for table, key in (
                    (tables.datasets, tables.datasets.c.name_key),
                    (tables.periods, tables.periods.c.identifier),
                    (tables.projects, tables.projects.c.name_key),
                )
            )
        return Definitions(
            revision,
            tuple(map(rows.DATASET.validate_json, datasets)),
            tuple(map(rows.PERIOD.validate_json, periods)),
            tuple(map(rows.PROJECT.validate_json, projects)),
        )

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        if self.connection is not None:
            yield self.connection
        else:
            with self.database.read_transaction() as connection:
                yield connection

    def _one(self, query: sa.Select[Any]) -> sa.Row[Any] | None:
        with self._transaction() as connection:
            return connection.execute(query).first()

    def _all(self, query: sa.Select[Any]) -> list[sa.Row[Any]]:
        with self._transaction() as connection:
            return list(connection.execute(query))


def matches(key: DatasetKey) -> sa.ColumnElement[bool]:
    """The condition for the dataset with an ID or name."""
    if isinstance(key, UUID):
        return tables.datasets.c.id == key
    return tables.datasets.c.name_key == key.lower()


def _summaries(status: Status | None, after: str | None, limit: int | None) -> sa.Select[Any]:
    """Finds the datasets of a page first, then the versions of these only."""
    datasets = tables.datasets
    shown = [datasets.c[name] for name in ("id", "name", "name_key", "status", "temporal_mode")]
    page = sa.select(*shown)
    if status is not None:
        page = page.where(datasets.c.status == status.value)
    if after is not None:
        page = page.where(datasets.c.name_key > after.lower())
    found = page.order_by(datasets.c.name_key).limit(limit).subquery()
    own = _versions.c.dataset_id == found.c.id
    active = _versions.c.status == Status.ACTIVE.value
    count = sa.select(sa.func.count()).where(own).scalar_subquery()
    latest = sa.select(sa.func.max(_versions.c.number)).where(own, active).scalar_subquery()
    last = sa.select(found, count.label("versions"), latest.label("latest_version")).subquery()
    published = (_versions.c.dataset_id == last.c.id) & (
        _versions.c.number == last.c.latest_version
    )
    return (
        sa.select(last, _versions.c.published_at)
        .select_from(last.outerjoin(_versions, published))
        .order_by(last.c.name_key)
    )


def _summary(row: sa.Row[Any]) -> DatasetSummary:
    return DatasetSummary(
        row.id,
        row.name,
        Status(row.status),
        TemporalMode(row.temporal_mode),
        row.versions,
        row.latest_version,
        row.published_at,
    )
