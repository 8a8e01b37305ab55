"""Finds values of a catalog by name; unknown names are errors with a suggestion."""

from __future__ import annotations

from uuid import UUID

from millstream.catalog.model import (
    CatalogReader,
    Dataset,
    DatasetKey,
    DatasetVersion,
    Period,
    Project,
    Run,
    Status,
)
from millstream.errors import CatalogError, ProjectError
from millstream.suggestions import nearest


def require_dataset(reader: CatalogReader, key: DatasetKey) -> Dataset:
    """Returns a dataset by ID or name."""
    found = reader.find_dataset(key)
    if found is not None:
        return found
    fix = "" if isinstance(key, UUID) else nearest(key, reader.dataset_names())
    raise CatalogError("MS-CATALOG-UNKNOWN", f"there is no dataset {key}.", fix=fix)


def require_version(
    reader: CatalogReader, dataset: Dataset, number: int | None = None
) -> DatasetVersion:
    """Returns a version of a dataset by number, or the latest active one."""
    if number is None:
        found = reader.find_latest_version(dataset.id)
        cause = f"the dataset {dataset.name} has no active version."
    else:
        found = reader.find_version(dataset.id, number)
        cause = f"the dataset {dataset.name} has no version {number}."
    if found is not None:
        return found
    numbers = [version.number for version in reader.versions(dataset.id)]
    fix = f"Publish one: millstream catalog publish {dataset.name} PATH."
    if numbers:
        fix = f"It has versions {min(numbers)} to {max(numbers)}."
    raise CatalogError("MS-CATALOG-UNKNOWN", cause, fix=fix)


def require_status(name: str) -> Status:
    """Returns a status by name."""
    if name not in {each.value for each in Status}:
        cause = f"there is no status {name}."
        raise CatalogError("MS-CATALOG-VALUE", cause, fix=nearest(name, Status))
    return Status(name)


def require_period(reader: CatalogReader, identifier: str) -> Period:
    """Returns a period by its identifier."""
    found = reader.find_period(identifier)
    if found is None:
        fix = nearest(identifier, [period.identifier for period in reader.periods()])
        raise CatalogError("MS-CATALOG-UNKNOWN", f"there is no period {identifier}.", fix=fix)
    return found


def require_project(reader: CatalogReader, name: str) -> Project:
    """Returns a project by name."""
    found = reader.find_project(name)
    if found is None:
        fix = nearest(name, [project.name for project in reader.projects()])
        raise CatalogError("MS-CATALOG-UNKNOWN", f"there is no project {name}.", fix=fix)
    return found


def require_run(reader: CatalogReader, run_id: UUID) -> Run:
    """Returns a run by its ID."""
    found = reader.find_run(run_id)
    if found is None:
        raise ProjectError(
            "MS-PROJECT-RUN-UNKNOWN",
            f"there is no run {run_id}.",
            fix="List runs: millstream project runs",
        )
    return found
