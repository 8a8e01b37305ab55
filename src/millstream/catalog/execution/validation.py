"""Validates a project: VR-001 to VR-008, and what else would make a run fail.

| rule   | code                          |
|--------|-------------------------------|
| VR-001 | MS-PROJECT-DATASET-UNKNOWN    |
| VR-002 | MS-PROJECT-DATASET-DISABLED   |
| VR-003 | MS-PROJECT-VERSION-UNKNOWN    |
| VR-004 | MS-PROJECT-ALIAS-REPEATED     |
| VR-005 | MS-PROJECT-ALIAS-TABLE        |
| VR-006 | MS-PROJECT-CONDITION          |
| VR-007 | MS-PROJECT-CONDITION-COLUMN   |
| VR-008 | MS-PROJECT-ASSIGNMENT-COLUMN  |

All problems are reported at once. Types are checked by Spark's analyzer, on empty DataFrames with
the recorded schemas.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self
from uuid import UUID

from pyspark.sql import SparkSession

from millstream.catalog.execution.analysis import check_types
from millstream.catalog.execution.compile import compile_operation
from millstream.catalog.execution.output import output_path
from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.execution.snapshot import pinned_version
from millstream.catalog.model import (
    CatalogReader,
    Column,
    Dataset,
    DatasetKey,
    Positions,
    Project,
    ResolverRef,
    Status,
    UpdateOperation,
)
from millstream.errors import MillstreamError, ProjectError
from millstream.suggestions import nearest

Schema = tuple[Column, ...]


class InvalidProjectError(ProjectError):
    """A project with its problems, each with a code and, if it was read from YAML, a place."""

    problems: tuple[MillstreamError, ...] = ()

    @classmethod
    def of(cls, project: str, problems: list[MillstreamError]) -> Self:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        listed = "".join(f"\n  {problem}" for problem in problems)
        error = cls("MS-PROJECT-INVALID", f"project {project} has {count}:{listed}")
        error.problems = tuple(problems)
        return error


def validate(
    spark: SparkSession | None,
    reader: CatalogReader,
    project: Project,
    resolvers: ResolverRegistry,
    base: Path,
) -> None:
    """Raises InvalidProjectError with all problems of a project. Without Spark, types are not
    checked."""
    validator = _Validator(reader, project, resolvers)
    validator.run(spark, base)
    if validator.problems:
        raise InvalidProjectError.of(project.name, sorted(validator.problems, key=_position))


def _position(problem: MillstreamError) -> tuple[bool, str, int, int]:
    """Orders problems by their places in YAML; those without a place are last."""
    place = problem.place
    if place is None:
        return True, "", 0, 0
    return False, place.file or "", place.line, place.column


class _Validator:
    def __init__(
        self, reader: CatalogReader, project: Project, resolvers: ResolverRegistry
    ) -> None:
        self._reader = reader
        self._project = project
        self._resolvers = resolvers
        self._opened: set[object] = set()
        self.problems: list[MillstreamError] = []

    def run(self, spark: SparkSession | None, base: Path) -> None:
        project, given = self._project, self._project.input
        dataset = self._dataset(given.dataset, given.positions, "dataset", "in a project")
        working = self._schema(given.dataset, dataset, given.dataset_version, given.positions)
        self._check_overrides()
        self._check_resolver(self._resolvers.default, project.positions)
        try:
            output_path(project.output, base, "period")
        except ProjectError as error:
            self.problems.append(error.at(project.output.positions.of("location")))
        self._check_operations(spark, dataset, working)

    def _check_overrides(self) -> None:
        project = self._project
        joins = [join.dataset for operation in project.operations for join in operation.joins]
        used = {self._id_of(key) for key in (project.input.dataset, *joins)}
        seen: set[UUID] = set()
        for override in project.resolver_overrides:
            key, positions = override.dataset, override.positions
            self._check_resolver(override.resolver, positions)
            dataset = self._dataset(key, positions, "dataset", "in a project")
            if dataset is None:
                continue
            if dataset.id in seen:
                cause = f"there are several resolver overrides for the dataset {dataset.name}: "
                fix = "Remove all but one."
                self._add("MS-PROJECT-OVERRIDE", f"{cause}{key}.", positions, "dataset", fix)
            elif dataset.id not in used:
                cause = f"there is a resolver override for {key}, which the project does not use."
                fix = "Remove it, or correct its dataset."
                self._add("MS-PROJECT-OVERRIDE", cause, positions, "dataset", fix)
            seen.add(dataset.id)

    def _id_of(self, key: DatasetKey) -> UUID | None:
        dataset = self._reader.find_dataset(key)
        return None if dataset is None else dataset.id

    def _check_operations(
        self, spark: SparkSession | None, dataset: Dataset | None, working: Schema | None
    ) -> None:
        """Compiles all operations. If the input is not known, references to its columns and types
        are not checked."""
        columns = None if working is None else tuple(each.name for each in working)
        table = None if dataset is None else dataset.table.name
        compiled = []
        for operation in self._project.operations:
            schemas = self._join_schemas(operation, dataset)
            names = [
                None if schema is None else [each.name for each in schema] for schema in schemas
            ]
            found = compile_operation(operation, table, columns, names, self.problems)
            compiled.append((found, schemas))
            columns = None if columns is None else found.columns
        if spark is not None and working is not None:
            check_types(spark, working, compiled, self.problems)

    def _join_schemas(
        self, operation: UpdateOperation, given: Dataset | None
    ) -> list[Schema | None]:
        schemas = []
        for join in operation.joins:
            key = join.dataset_position
            dataset = self._dataset(join.dataset, join.positions, key, "in joins")
            version = pinned_version(self._project, join, given)
            schemas.append(self._schema(join.dataset, dataset, version, join.positions))
        return schemas

    def _dataset(
        self, key: DatasetKey, positions: Positions, position: str, used: str
    ) -> Dataset | None:
        dataset = self._reader.find_dataset(key)
        if dataset is None:
            names = self._reader.dataset_names() if isinstance(key, str) else []
            fix = nearest(str(key), names)
            cause = f"Dataset {key} not found in MetadataStore"
            self._add("MS-PROJECT-DATASET-UNKNOWN", cause, positions, position, fix)
        elif dataset.status is Status.DISABLED:
            self._add(
                "MS-PROJECT-DATASET-DISABLED",
                f"Dataset {key} is disabled and cannot be used {used}",
                positions,
                position,
                "Enable it, or use another dataset.",
            )
        elif dataset.resolver is not None:
            self._check_resolver(dataset.resolver, dataset.positions)
        return dataset

    def _schema(
        self,
        key: DatasetKey,
        dataset: Dataset | None,
        version: int | None,
        positions: Positions,
    ) -> Schema | None:
        """Returns the columns of a version, or those declared if no version is published yet."""
        if dataset is None:
            return None
        if version is None:
            latest = self._reader.find_latest_version(dataset.id)
            return dataset.table.all_columns if latest is None else latest.schema
        found = self._reader.find_version(dataset.id, version)
        if found is None:
            known = [str(each.number) for each in self._reader.versions(dataset.id)]
            self._add(
                "MS-PROJECT-VERSION-UNKNOWN",
                f"Dataset {key} version {version} not found",
                positions,
                "dataset_version",
                f"Published versions: {', '.join(reversed(known))}."
                if known
                else "Publish it first.",
            )
            return dataset.table.all_columns
        return found.schema

    def _check_resolver(self, reference: ResolverRef, positions: Positions) -> None:
        seen = (reference.name, *sorted(reference.config.items()))
        if seen in self._opened:
            return
        self._opened.add(seen)
        try:
            self._resolvers.open(reference)
        except ProjectError as error:
            self.problems.append(error.at(positions.of("resolver")))

    def _add(
        self, code: str, cause: str, positions: Positions, position: str, fix: str = ""
    ) -> None:
        place = positions.of(position)
        self.problems.append(ProjectError(code, cause, fix=fix, place=place))
