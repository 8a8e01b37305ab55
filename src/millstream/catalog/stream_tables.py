"""Datasets as tables of streaming jobs: which version, and which properties its table has."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.catalog.catalog import Catalog
from millstream.catalog.execution.built_in_resolvers import DataLocation
from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.lookup import require_dataset, require_version
from millstream.catalog.model import (
    CatalogReader,
    DataFormat,
    Dataset,
    DatasetVersion,
    Period,
    Status,
)
from millstream.errors import CatalogError, ProjectError
from millstream.plan.build.tables.datasets import DatasetTable

if TYPE_CHECKING:
    from millstream.catalog.store.catalog_url import CatalogUrl
    from millstream.catalog.store.open import OpenCatalog

# A path, a URL, an opened catalog, or None: MILLSTREAM_CATALOG or millstream-catalog.db.
CatalogArgument = str | os.PathLike[str] | Catalog | None

# A job has no period: a location that differs between these two cannot be read.
_PERIODS = (
    Period("1970-01", date(1970, 1, 1), date(1970, 1, 31)),
    Period("2000-02", date(2000, 2, 1), date(2000, 2, 29)),
)


@dataclass(slots=True)
class StreamTables:
    """Resolves the datasets of a job, a `DatasetResolver`.

    A dataset without a version gets that of `recorded`, which the checkpoint of the job contains by
    the lower-case names of datasets, or the latest active one. `chosen` are the versions that were
    chosen so, `pinned` those that the job names. The catalog is opened when the first dataset is
    resolved. Relative paths of resolvers begin at the working directory.
    """

    open: Callable[[], OpenCatalog]
    recorded: Mapping[str, int] = field(default_factory=dict)
    resolvers: ResolverRegistry = field(default_factory=lambda: ResolverRegistry(Path.cwd()))
    chosen: dict[str, int] = field(default_factory=dict)
    pinned: dict[str, list[int]] = field(default_factory=dict)

    def __call__(
        self,
        name: str,
        version: int | None,
        table: str = "",  # noqa: ARG002 -- of DatasetResolver
    ) -> DatasetTable:
        from millstream.catalog.execution.inputs import verify_files

        key = name.lower()
        with closing(self.open()) as catalog:
            dataset = require_dataset(catalog.reader, name)
            found = self._version(catalog.reader, dataset, version)
            files = catalog.reader.files(found.dataset_id, found.number)
        location = self._location(dataset, found)
        if location == DataLocation(found.format, found.location, found.options):
            verify_files(f"{name} v{found.number}", found.location, files)
        if version is None:
            self.chosen[key] = found.number
        else:
            self.pinned[key] = sorted({*self.pinned.get(key, ()), found.number})
        columns = tuple((column.name, column.type) for column in found.schema)
        return DatasetTable(columns, tuple(_properties(location).items()))

    def _version(
        self, reader: CatalogReader, dataset: Dataset, version: int | None
    ) -> DatasetVersion:
        key = dataset.name.lower()
        recorded = self.recorded.get(key) if version is None else None
        if dataset.status is Status.DISABLED and recorded is None:
            raise CatalogError(
                "MS-CATALOG-DISABLED",
                f"the dataset {dataset.name} is disabled.",
                fix="Enable it, or use another one.",
            )
        # A dataset that the job names twice has one version, also if one is published meanwhile.
        return require_version(reader, dataset, version or recorded or self.chosen.get(key))

    def _location(self, dataset: Dataset, version: DatasetVersion) -> DataLocation:
        reference = dataset.resolver or self.resolvers.default
        resolver = self.resolvers.open(reference)
        one, other = (resolver.resolve(dataset, version, period) for period in _PERIODS)
        if one != other:
            raise ProjectError(
                "MS-PROJECT-RESOLVER",
                f"the location of {dataset.name} depends on the period (resolver "
                f"{reference.name}), and a streaming job has no period.",
                fix="Use a resolver without {period}, {start} and {end}, or a dataset without a "
                "resolver.",
            )
        return one


def stream_tables(
    catalog: CatalogArgument = None, recorded: Mapping[str, int] | None = None
) -> StreamTables:
    """Returns the datasets of a catalog as tables of a job, by default in the recorded versions.

    The catalog is opened when a dataset is resolved. One that is given opened is opened once more,
    so that it may be closed in the meantime.
    """

    def opened() -> OpenCatalog:
        from millstream.catalog.store.open import open_catalog

        return open_catalog(catalog_url_of(catalog))

    return StreamTables(opened, recorded or {})


def catalog_url_of(catalog: CatalogArgument) -> CatalogUrl:
    """Returns where a catalog is."""
    if isinstance(catalog, Catalog):
        return catalog._url  # noqa: SLF001 -- of the same package, and not for users
    from millstream.catalog.store.catalog_url import parse_catalog_url

    return parse_catalog_url(catalog)


def _properties(location: DataLocation) -> dict[str, str]:
    options = dict(location.options)
    if location.format is DataFormat.JDBC:
        table = options["table"]
        url = location.location
        return {"connector": "jdbc", "url": url, "table": table, "table.mode": "broadcast"}
    if options.get("escape") == options.get("quote"):
        options.pop("escape", None)  # a quote inside of a value is doubled
    return {
        "connector": "file",
        "path": location.location,
        "format": location.format.value,
        **options,
    }
