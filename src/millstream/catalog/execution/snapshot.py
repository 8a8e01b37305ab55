"""Resolves everything that a run reads, before it executes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from millstream.catalog.execution.resolvers import Location, Resolvers
from millstream.catalog.model import (
    CatalogReader,
    DataFormat,
    Dataset,
    DatasetKey,
    DatasetSnapshot,
    DatasetVersion,
    JoinDatasetSnapshot,
    Period,
    Project,
    ResolverSnapshot,
    VersionFile,
)
from millstream.catalog.publishing.files import content_hash, describe_files
from millstream.errors import ProjectError


@dataclass(frozen=True, slots=True)
class SnapshotBuilder:
    """Resolves the datasets of one run."""

    reader: CatalogReader
    resolvers: Resolvers
    project: Project
    period: Period

    def build(self) -> ResolverSnapshot:
        """Returns the snapshot of a run. The project must be valid."""
        project = self.project
        given = self._dataset(project.input.dataset)
        version = self._version(given, project.input.dataset_version)
        joins = []
        for number, operation in enumerate(project.operations):
            for join in operation.joins:
                dataset = self._dataset(join.dataset)
                pinned = join.dataset_version
                if pinned is None and dataset.id == given.id:
                    pinned = version.number  # a self-join reads the version of the input
                joined = self._resolve(dataset, self._version(dataset, pinned))
                joins.append(
                    JoinDatasetSnapshot(**_values(joined), operation=number, alias=join.alias)
                )
        return ResolverSnapshot(
            input=self._resolve(given, version),
            join_datasets=tuple(joins),
            period=self.period,
            operations=project.operations,
            resolver_overrides=project.resolver_overrides,
            output=project.output,
        )

    def _dataset(self, key: DatasetKey) -> Dataset:
        dataset = self.reader.find_dataset(key)
        assert dataset is not None, f"{key} was validated"
        return dataset

    def _version(self, dataset: Dataset, pinned: int | None) -> DatasetVersion:
        if pinned is None:
            version = self.reader.find_latest_version(dataset.id)
        else:
            version = self.reader.find_version(dataset.id, pinned)
        if version is None:
            raise ProjectError(
                "MS-PROJECT-VERSION-UNKNOWN",
                f"Dataset {dataset.name} has no active version.",
                fix=f"Publish one: millstream catalog publish {dataset.name} PATH",
            )
        return version

    def _resolve(self, dataset: Dataset, version: DatasetVersion) -> DatasetSnapshot:
        reference, source = self.resolvers.choose(self.project, dataset)
        found = self.resolvers.open(reference).resolve(dataset, version, self.period)
        recorded = Location(version.format, version.location, version.options)
        if found == recorded:
            recorded_hash = version.content_hash
            files = self.reader.files(dataset.id, version.number)
        else:
            recorded_hash, files = _fingerprint(found, version)
        return DatasetSnapshot(
            dataset_id=dataset.id,
            dataset_name=dataset.name,
            dataset_version=version.number,
            table_name=dataset.table.name,
            temporal_mode=dataset.table.temporal_mode,
            resolver_source=source,
            resolver=reference,
            format=found.format,
            location=found.location,
            schema=version.schema,
            content_hash=recorded_hash,
            options=found.options,
            files=files,
        )


def _fingerprint(
    found: Location, version: DatasetVersion
) -> tuple[str | None, tuple[VersionFile, ...]]:
    """Returns hash and files of a location that is not the one that was published. The rows of a
    database can change at any time."""
    if found.format is DataFormat.JDBC:
        return None, ()
    files = describe_files(found.location)
    return content_hash(found.format, found.options, version.schema, files), files


def _values(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}
