"""Datasets as tables of streaming jobs: which version, and which properties its table has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.catalog.lookup import require_dataset, require_version
from millstream.catalog.model import CatalogReader, DataFormat, DatasetVersion, Status
from millstream.errors import CatalogError
from millstream.plan.tables.datasets import DatasetTable

if TYPE_CHECKING:
    from millstream.catalog.store.open import OpenCatalog

Versions = Mapping[str, int]
"""Numbers of versions by the lower-case names of datasets."""


@dataclass(slots=True)
class StreamTables:
    """Resolves the datasets of a job, a `DatasetResolver`.

    A dataset without a version gets that of `recorded`, which the checkpoint of the job contains,
    or the latest active one. `chosen` are the versions that were chosen so. The catalog is opened
    when the first dataset is resolved.
    """

    open: Callable[[], OpenCatalog]
    recorded: Versions = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)

    def __call__(self, name: str, version: int | None) -> DatasetTable:
        from millstream.catalog.execution.inputs import verify_files

        with closing(self.open()) as catalog:
            pinned = version if version is not None else self.recorded.get(name.lower())
            found = _version(catalog.reader, name, pinned)
            files = catalog.reader.files(found.dataset_id, found.number)
        verify_files(f"{name} v{found.number}", found.location, files)
        if version is None:
            self.chosen[name.lower()] = found.number
        columns = tuple((column.name, column.type) for column in found.schema)
        return DatasetTable(columns, tuple(_properties(found).items()))


def _version(reader: CatalogReader, name: str, number: int | None) -> DatasetVersion:
    dataset = require_dataset(reader, name)
    if dataset.status is Status.DISABLED:
        raise CatalogError(
            "MS-CATALOG-DISABLED",
            f"the dataset {name} is disabled.",
            fix="Enable it, or use another one.",
        )
    return require_version(reader, dataset, number)


def _properties(version: DatasetVersion) -> dict[str, str]:
    options = dict(version.options)
    if version.format is DataFormat.JDBC:
        table = options["table"]
        url = version.location
        return {"connector": "jdbc", "url": url, "table": table, "table.mode": "broadcast"}
    if options.get("escape") == options.get("quote"):
        options.pop("escape", None)  # a quote inside of a value is doubled
    return {
        "connector": "file",
        "path": version.location,
        "format": version.format.value,
        **options,
    }
