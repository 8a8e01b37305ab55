"""Resolves everything that a run reads, before it executes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from millstream.catalog.execution.built_in_resolvers import DataLocation
from millstream.catalog.execution.resolver_registry import ResolverRegistry, is_key_of
from millstream.catalog.model import (
    CatalogReader,
    Dataset,
    DatasetKey,
    DatasetSnapshot,
    DatasetVersion,
    JoinDatasetSnapshot,
    Period,
    Project,
    ResolverRef,
    ResolverSnapshot,
    RunEnvironment,
    RuntimeJoin,
    VersionFile,
)
from millstream.catalog.publishing.files import content_hash, describe_files
from millstream.errors import CatalogError, ProjectError


@dataclass(frozen=True, slots=True)
class ChosenVersion:
    """A dataset, the version of it that a run reads, and the files recorded with the version."""

    dataset: Dataset
    version: DatasetVersion
    files: tuple[VersionFile, ...]


@dataclass(frozen=True, slots=True)
class ChosenVersions:
    """The versions that a run reads: of its input, and by operation of each join."""

    input: ChosenVersion
    joins: tuple[tuple[ChosenVersion, ...], ...]


def choose_versions(reader: CatalogReader, project: Project) -> ChosenVersions:
    """Returns the versions that a run of a valid project reads. The reader must see the catalog at
    one moment: a dataset without a version has the same one in all joins."""
    given = project.input
    chosen = _choose(reader, given.dataset, given.dataset_version)
    joins = []
    for operation in project.operations:
        numbers = [pinned_version(project, join, chosen.dataset) for join in operation.joins]
        joins.append(
            tuple(
                _choose(reader, join.dataset, number)
                for join, number in zip(operation.joins, numbers, strict=True)
            )
        )
    return ChosenVersions(chosen, tuple(joins))


def pinned_version(project: Project, join: RuntimeJoin, given: Dataset | None) -> int | None:
    """Returns the version that a join names. Without one, a self-join reads that of the input."""
    is_self_join = given is not None and is_key_of(join.dataset, given)
    if join.dataset_version is None and is_self_join:
        return project.input.dataset_version
    return join.dataset_version


def _choose(reader: CatalogReader, key: DatasetKey, number: int | None) -> ChosenVersion:
    dataset = reader.find_dataset(key)
    assert dataset is not None, f"{key} was validated"
    if number is None:
        version = reader.find_latest_version(dataset.id)
    else:
        version = reader.find_version(dataset.id, number)
    if version is None:
        raise ProjectError(
            "MS-PROJECT-NO-VERSION",
            f"Dataset {dataset.name} has no active version.",
            fix=f"Publish one: millstream catalog publish {dataset.name} PATH",
        )
    return ChosenVersion(dataset, version, reader.files(dataset.id, version.number))


@dataclass(frozen=True, slots=True)
class SnapshotBuilder:
    """Resolves the chosen versions of one run to locations."""

    resolvers: ResolverRegistry
    project: Project
    period: Period
    environment: RunEnvironment

    def build(self, chosen: ChosenVersions) -> ResolverSnapshot:
        """Returns the snapshot of a run."""
        project = self.project
        joins = [
            JoinDatasetSnapshot(
                **_values(self._resolve(version)), operation=number, alias=join.alias
            )
            for number, operation in enumerate(project.operations)
            for join, version in zip(operation.joins, chosen.joins[number], strict=True)
        ]
        return ResolverSnapshot(
            input_dataset_id=chosen.input.dataset.id,
            input_dataset_version=chosen.input.version.number,
            input=self._resolve(chosen.input),
            join_datasets=tuple(joins),
            period=self.period,
            operations=project.operations,
            resolver_overrides=project.resolver_overrides,
            output=project.output,
            environment=self.environment,
        )

    def _resolve(self, chosen: ChosenVersion) -> DatasetSnapshot:
        dataset, version, files = chosen.dataset, chosen.version, chosen.files
        reference, source = self.resolvers.choose(self.project, dataset)
        found = self.resolvers.resolve(reference, dataset, version, self.period)
        recorded_hash = version.content_hash
        key = version.key if version.reproducible else ()
        if found != DataLocation(version.format, version.location, version.options):
            recorded_hash, files = _fingerprint(found, dataset, version, reference)
            key = ()
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
            key=key,
        )


def _fingerprint(
    found: DataLocation, dataset: Dataset, version: DatasetVersion, resolver: ResolverRef
) -> tuple[str | None, tuple[VersionFile, ...]]:
    """Returns hash and files of a location that is not the one that was published. The rows of a
    table can change at any time."""
    if not found.format.is_files:
        return None, ()
    try:
        files = describe_files(found.location)
    except CatalogError as error:
        raise CatalogError(
            error.code,
            f"{dataset.name} v{version.number}, resolver {resolver.name}: {error.cause}",
            fix="Check the settings of the resolver, and that the files are there.",
        ) from None
    return content_hash(found.format, found.options, version.schema, files), files


def _values(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}
