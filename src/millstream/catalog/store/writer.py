"""Changes datasets, versions, periods and projects of a catalog in its database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from millstream.catalog.model import (
    Dataset,
    DatasetVersion,
    Definitions,
    Project,
    ProjectStatus,
    Status,
    Table,
    VersionContent,
    VersionFile,
)
from millstream.catalog.secrets import reject_secret
from millstream.catalog.store import rows, tables
from millstream.catalog.store.clock import Clock, catalog_time
from millstream.catalog.store.database import Database
from millstream.catalog.store.run_writer import RunWriter
from millstream.errors import CatalogError


@dataclass(frozen=True, slots=True)
class DatabaseWriter(RunWriter):
    """Implements `CatalogWriter`."""

    database: Database
    clock: Clock = catalog_time

    def apply(self, changes: Definitions) -> None:
        with self.database.write_transaction() as connection:
            if _next_revision(connection) != changes.revision + 1:
                raise CatalogError(
                    "MS-CATALOG-CONFLICT",
                    "another process changed the catalog after the plan of changes was made.",
                    fix="Run the command again.",
                )
            _release_names(connection, changes.datasets)
            _reject_new_temporal_modes(connection, changes.datasets)
            _store(connection, tables.datasets, "id", map(rows.dataset_row, changes.datasets))
            _store(connection, tables.periods, "identifier", map(rows.period_row, changes.periods))
            _store(connection, tables.projects, "name_key", map(rows.project_row, changes.projects))

    def publish(
        self,
        dataset_id: UUID,
        content: VersionContent,
        files: tuple[VersionFile, ...],
        *,
        table: Table | None = None,
    ) -> DatasetVersion:
        reject_secret("the location", content.location)
        versions = tables.versions
        with self.database.write_transaction() as connection:
            dataset = _locked_dataset(connection, dataset_id)
            if table is not None and table != dataset.table:
                raise CatalogError(
                    "MS-CATALOG-CONFLICT",
                    f"another process changed the dataset {dataset.name} while its files were "
                    "read.",
                    fix="Publish them again.",
                )
            own = versions.c.dataset_id == dataset_id
            equal = versions.c.content_hash == content.content_hash
            same = connection.execute(sa.select(versions).where(own, equal)).first()
            if same is not None and content.reproducible:
                raise _published_error(dataset, rows.version_of(same))
            last = connection.execute(sa.select(sa.func.max(versions.c.number)).where(own)).scalar()
            version = rows.new_version(
                content,
                dataset_id=dataset_id,
                number=(last or 0) + 1,
                published_at=self.clock(connection),
                file_count=len(files),
                total_bytes=sum(file.size for file in files),
            )
            connection.execute(sa.insert(versions).values(rows.version_row(version, content)))
            if files:
                connection.execute(
                    sa.insert(tables.version_files),
                    [_file_row(version, file) for file in files],
                )
        return version

    def set_dataset_status(self, dataset_id: UUID, status: Status) -> Dataset:
        with self.database.write_transaction() as connection:
            _next_revision(connection)
            dataset = replace(_locked_dataset(connection, dataset_id), status=status)
            _store(connection, tables.datasets, "id", [rows.dataset_row(dataset)])
        return dataset

    def set_version_status(self, dataset_id: UUID, number: int, status: Status) -> DatasetVersion:
        versions = tables.versions
        one = (versions.c.dataset_id == dataset_id) & (versions.c.number == number)
        with self.database.write_transaction() as connection:
            dataset = _locked_dataset(connection, dataset_id)
            connection.execute(sa.update(versions).where(one).values(status=status.value))
            row = connection.execute(sa.select(versions).where(one)).first()
            if row is None:
                raise CatalogError(
                    "MS-CATALOG-UNKNOWN", f"the dataset {dataset.name} has no version {number}."
                )
            return rows.version_of(row)

    def activate_project(self, name: str, revision: int) -> Project:
        projects = tables.projects
        one = projects.c.name_key == name.lower()
        with self.database.write_transaction() as connection:
            _next_revision(connection)
            row = connection.execute(
                sa.select(projects.c.definition).where(one).with_for_update()
            ).first()
            found = rows.PROJECT.validate_json(row.definition) if row else None
            if found is None or found.revision != revision:
                raise CatalogError(
                    "MS-CATALOG-CONFLICT",
                    f"another process changed the project {name} while it was validated.",
                    fix="Activate it again.",
                )
            project = replace(found, status=ProjectStatus.ACTIVE)
            _store(connection, projects, "name_key", [rows.project_row(project)])
        return project


def _next_revision(connection: sa.Connection) -> int:
    """Increases the revision of the catalog. Until the end of the transaction, others that change
    definitions wait. It comes before other locks, so that two transactions cannot deadlock."""
    revision = tables.catalog.c.revision
    connection.execute(sa.update(tables.catalog).values(revision=revision + 1))
    return int(connection.execute(sa.select(revision)).scalar_one())


def _release_names(connection: sa.Connection, given: Iterable[Dataset]) -> None:
    """Frees the names of datasets that are changed, so that two can exchange their names."""
    ids = [{"one": dataset.id, "free": str(dataset.id)} for dataset in given]
    if ids:
        datasets = tables.datasets
        release = sa.update(datasets).where(datasets.c.id == sa.bindparam("one"))
        connection.execute(release.values(name_key=sa.bindparam("free")), ids)


def _reject_new_temporal_modes(connection: sa.Connection, given: Iterable[Dataset]) -> None:
    """The files of a version have the columns of the temporal mode that it was published with."""
    datasets, versions = tables.datasets, tables.versions
    has_version = sa.exists().where(versions.c.dataset_id == datasets.c.id)
    query = sa.select(datasets.c.definition).where(
        datasets.c.id == sa.bindparam("one"),
        datasets.c.temporal_mode != sa.bindparam("mode"),
        has_version,
    )
    for new in given:
        mode = new.table.temporal_mode
        row = connection.execute(query, {"one": new.id, "mode": mode.value}).first()
        if row is not None:
            old = rows.DATASET.validate_json(row.definition).table.temporal_mode
            raise CatalogError(
                "MS-CATALOG-CHANGE",
                f"the dataset {new.name} has versions with the temporal mode {old.value}, so it "
                f"cannot become {mode.value}.",
                fix="Define a dataset with another name for the new temporal mode.",
                place=new.positions.of("main_table"),
            )


def _locked_dataset(connection: sa.Connection, dataset_id: UUID) -> Dataset:
    """Returns a dataset; until the end of the transaction, others wait for it."""
    datasets = tables.datasets
    query = sa.select(datasets.c.definition).where(datasets.c.id == dataset_id).with_for_update()
    row = connection.execute(query).first()
    if row is None:
        raise CatalogError("MS-CATALOG-UNKNOWN", f"there is no dataset {dataset_id}.")
    return rows.DATASET.validate_json(row.definition)


def _store(
    connection: sa.Connection, table: sa.Table, key: str, given: Iterable[dict[str, Any]]
) -> None:
    """Inserts rows, or replaces those with the same key."""
    values = list(given)
    if not values:
        return
    column = table.c[key]
    known = set(connection.execute(sa.select(column)).scalars())
    changed = [{**row, "old_key": row[key]} for row in values if row[key] in known]
    if changed:
        others = [name for name in values[0] if name != key]
        update = sa.update(table).where(column == sa.bindparam("old_key"))
        new = {name: sa.bindparam(name, type_=table.c[name].type) for name in others}
        connection.execute(update.values(new), changed)
    if added := [row for row in values if row[key] not in known]:
        connection.execute(sa.insert(table), added)


def _file_row(version: DatasetVersion, file: VersionFile) -> dict[str, Any]:
    return {
        "dataset_id": version.dataset_id,
        "number": version.number,
        "path": file.path,
        "size": file.size,
        "modified_ns": file.modified_ns,
        "sha256": file.sha256,
    }


def _published_error(dataset: Dataset, version: DatasetVersion) -> CatalogError:
    return CatalogError(
        "MS-CATALOG-PUBLISHED",
        f"this content is already published as version {version.number} of {dataset.name}, since "
        f"{version.published_at:%Y-%m-%d %H:%M} UTC.",
        fix=f"Use version {version.number}, or enable it if it is disabled.",
    )
