"""Datasets of a catalog in `ms.sql`: a query reads one version of each, and one catalog."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millstream.catalog.catalog import Catalog
from millstream.catalog.stream_tables import (
    CatalogArgument,
    StreamTables,
    catalog_url_of,
    stream_tables,
)
from millstream.errors import PlanError
from millstream.plan.build.tables.datasets import DatasetTable
from millstream.run.dataset_versions import DatasetVersions


@dataclass(slots=True, eq=False)
class StepDatasets:
    """Resolves the datasets of one text, each once: a `DatasetResolver`."""

    catalog: CatalogArgument
    tables: StreamTables
    found: dict[tuple[str, int | None], DatasetTable] = field(default_factory=dict)

    @classmethod
    def of(cls, catalog: CatalogArgument, versions: Mapping[str, int]) -> StepDatasets:
        """Returns the datasets of a catalog. `versions` are those that other texts have chosen."""
        return cls(catalog, stream_tables(catalog, versions))

    def __call__(self, name: str, version: int | None, table: str) -> DatasetTable:
        key = (name.lower(), version)
        if key not in self.found:
            self.found[key] = self.tables(name, version, table)
        return self.found[key]

    def with_versions(self, versions: Mapping[str, int]) -> StepDatasets:
        """Returns the same datasets, not resolved yet, in other versions."""
        return self.of(self.catalog, versions)


def versions_of(steps: Iterable[StepDatasets]) -> DatasetVersions:
    """Returns the versions of all datasets that the steps have resolved; the first choice wins."""
    chosen: dict[str, int] = {}
    pinned: dict[str, list[int]] = {}
    for step in steps:
        chosen = {**step.tables.chosen, **chosen}
        for name, numbers in step.tables.pinned.items():
            pinned[name] = sorted({*pinned.get(name, ()), *numbers})
    return DatasetVersions(chosen, pinned)


def differ(steps: Iterable[StepDatasets]) -> bool:
    """Whether two steps have chosen different versions of a dataset."""
    found = list(steps)
    chosen = versions_of(found).chosen
    return any(
        chosen[name] != number for step in found for name, number in step.tables.chosen.items()
    )


def reject_second_catalog(steps: Iterable[StepDatasets]) -> None:
    """A checkpoint contains versions by the names of datasets, and these are those of a catalog."""
    locations = [catalog_url_of(step.catalog) for step in steps if step.found]
    for location in locations[1:]:
        if location.url != locations[0].url:
            raise PlanError(
                "MS-PLAN-CATALOG",
                f"the query reads datasets of two catalogs: {locations[0].shown} and "
                f"{location.shown}.",
                fix="Publish the datasets in one catalog.",
            )


def catalog_of(given: object) -> CatalogArgument:
    """Returns the argument `catalog` of `ms.sql`; rejects a stream or table of that name."""
    if given is None or isinstance(given, str | os.PathLike | Catalog):
        return given
    raise PlanError(
        "MS-PLAN-CATALOG",
        f"`catalog` is a path, a URL or a Catalog, and not a {type(given).__name__}.",
        fix="Give a stream or table another name.",
    )
