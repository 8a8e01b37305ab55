"""Loads definitions: the values of the model, each with its positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from millstream.catalog.definitions.read import find_files, read_file
from millstream.catalog.definitions.specs import (
    DatasetSpec,
    OperationSpec,
    PeriodSpec,
    ProjectSpec,
    ResolverSpec,
    Spec,
)
from millstream.catalog.model import (
    Assignment,
    Column,
    Dataset,
    DatasetKey,
    Period,
    Positions,
    Project,
    ProjectInput,
    ProjectOutput,
    ProjectOverride,
    ResolverRef,
    RuntimeJoin,
    Status,
    Table,
    UpdateOperation,
)
from millstream.documents.yaml_text import Document
from millstream.errors import CatalogError
from millstream.values import JoinType

_UUID_LENGTH = 36
_Path = tuple[str | int, ...]
_Definition = TypeVar("_Definition", "DatasetDefinition", Period, Project)


@dataclass(frozen=True, slots=True)
class DatasetDefinition:
    """A dataset as written: without ID it is found by name, without status it keeps its own."""

    name: str
    table: Table
    id: UUID | None
    status: Status | None
    resolver: ResolverRef | None
    description: str
    positions: Positions

    def as_dataset(self, dataset_id: UUID, status: Status) -> Dataset:
        return Dataset(
            self.id or dataset_id,
            self.name,
            self.table,
            self.status or status,
            self.resolver,
            self.description,
            self.positions,
        )


@dataclass(frozen=True, slots=True)
class WrittenDefinitions:
    """All definitions of a folder."""

    datasets: tuple[DatasetDefinition, ...] = ()
    periods: tuple[Period, ...] = ()
    projects: tuple[Project, ...] = ()


def load_definitions(path: Path) -> WrittenDefinitions:
    """Returns the definitions at or below a path. Raises a CatalogError with the position."""
    datasets: list[DatasetDefinition] = []
    periods: list[Period] = []
    projects: list[Project] = []
    for file in find_files(path):
        for spec, document in read_file(file):
            for number, dataset in enumerate(spec.datasets):
                datasets.append(_dataset(dataset, document, ("datasets", number)))
            for number, period in enumerate(spec.periods):
                periods.append(_period(period, document, ("periods", number)))
            for number, project in enumerate(spec.projects):
                projects.append(_project(project, document, ("projects", number)))
    _reject_duplicates("dataset", datasets, lambda each: each.name)
    _reject_duplicates("dataset", [each for each in datasets if each.id], lambda each: str(each.id))
    _reject_duplicates("period", periods, lambda each: each.identifier)
    _reject_duplicates("project", projects, lambda each: each.name)
    return WrittenDefinitions(tuple(datasets), tuple(periods), tuple(projects))


def _dataset(spec: DatasetSpec, document: Document, path: _Path) -> DatasetDefinition:
    table = spec.main_table
    columns = tuple(Column(name, kind) for name, kind in table.columns.items())
    return DatasetDefinition(
        spec.name,
        Table(table.name or spec.name, columns, table.temporal_mode, table.key),
        spec.id,
        spec.status,
        _resolver(spec.resolver),
        spec.description,
        _positions(spec, document, path),
    )


def _resolver(spec: ResolverSpec | None) -> ResolverRef | None:
    return ResolverRef(spec.name, spec.config) if spec else None


def _period(spec: PeriodSpec, document: Document, path: _Path) -> Period:
    at = _positions(spec, document, path)
    return Period(spec.identifier, spec.start, spec.end, spec.level, spec.parent, at)


def _project(spec: ProjectSpec, document: Document, path: _Path) -> Project:
    operations = ((*path, "operations", number) for number in range(len(spec.operations)))
    return Project(
        name=spec.name,
        input=ProjectInput(
            spec.input.key,
            spec.input.dataset_version,
            _positions(spec.input, document, (*path, "input")),
        ),
        output=ProjectOutput(
            spec.output.location,
            spec.output.format,
            _positions(spec.output, document, (*path, "output")),
        ),
        operations=tuple(
            _operation(operation, document, at)
            for operation, at in zip(spec.operations, operations, strict=True)
        ),
        resolver_overrides=_overrides(spec, document, (*path, "resolver_overrides")),
        description=spec.description,
        positions=_positions(spec, document, path),
    )


def _overrides(spec: ProjectSpec, document: Document, path: _Path) -> tuple[ProjectOverride, ...]:
    return tuple(
        ProjectOverride(
            dataset_key(name),
            ResolverRef(each.name, each.config),
            Positions(document.place((*path, name))),
        )
        for name, each in spec.resolver_overrides.items()
    )


def dataset_key(text: str) -> DatasetKey:
    """Returns the ID that a text is, or else the text as a name."""
    with suppress(ValueError):
        if len(text) == _UUID_LENGTH:
            return UUID(text)
    return text


def _operation(spec: OperationSpec, document: Document, path: _Path) -> UpdateOperation:
    inside = (*path, "arguments")
    joins = tuple(
        RuntimeJoin(
            join.alias,
            join.key,
            join.on,
            join.dataset_version,
            JoinType(join.join_type),
            join.expected_cardinality,
            _positions(join, document, (*inside, "joins", number)),
        )
        for number, join in enumerate(spec.arguments.joins)
    )
    assignments = tuple(
        Assignment(
            each.column,
            each.expression,
            _positions(each, document, (*inside, "assignments", number)),
        )
        for number, each in enumerate(spec.arguments.assignments)
    )
    return UpdateOperation(joins, assignments, _positions(spec, document, path))


def _positions(spec: Spec, document: Document, path: _Path) -> Positions:
    values = {name: document.text_place((*path, name)) for name in spec.model_fields_set}
    return Positions(document.place(path), values)


def _reject_duplicates(
    kind: str, given: Iterable[_Definition], key: Callable[[_Definition], str]
) -> None:
    first: dict[str, _Definition] = {}
    for each in given:
        other = first.setdefault(key(each).lower(), each)
        if other is not each:
            raise CatalogError(
                "MS-CATALOG-DUPLICATE",
                f"the {kind} {key(each)} is defined twice; first at {other.positions.start}.",
                fix="Remove one.",
                place=each.positions.start,
            )
