"""Writes definitions as YAML files. Applying them to their catalog changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

from millstream.catalog.model import (
    DataFormat,
    Dataset,
    DatasetKey,
    Definitions,
    Period,
    Project,
    ResolverRef,
    RuntimeJoin,
    Status,
    UpdateOperation,
)
from millstream.documents.yaml_writer import write_yaml
from millstream.errors import CatalogError
from millstream.values import JoinType


def export_definitions(definitions: Definitions, folder: Path) -> list[Path]:
    """Writes a file for each dataset, level of periods and project into an empty folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CatalogError(
            "MS-CATALOG-FILE",
            f"{folder} is not an empty folder.",
            fix="Export to a new folder, and compare it with the old one.",
        )
    written = []
    for name, text in _files(definitions):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _files(definitions: Definitions) -> Iterator[tuple[str, str]]:
    for dataset in definitions.datasets:
        yield f"datasets/{dataset.name}.yaml", _yaml("datasets", [_dataset(dataset)])
    ordered = sorted(definitions.periods, key=lambda each: (each.level, each.start))
    for level, group in groupby(ordered, lambda each: each.level):
        yield f"periods/{level}.yaml", _yaml("periods", map(_period, group))
    for project in definitions.projects:
        yield f"projects/{project.name}.yaml", _yaml("projects", [_project(project)])


def _yaml(key: str, values: Iterable[dict[str, Any]]) -> str:
    return write_yaml({key: list(values)})


def _without_empty(**values: Any) -> dict[str, Any]:
    """The values that are not empty."""
    return {name: value for name, value in values.items() if value not in (None, "", {}, [])}


def _dataset(dataset: Dataset) -> dict[str, Any]:
    table = dataset.table
    return _without_empty(
        name=dataset.name,
        id=str(dataset.id),
        description=dataset.description,
        status=None if dataset.status is Status.ACTIVE else dataset.status.value,
        main_table=_without_empty(
            name=table.name,
            temporal_mode=table.temporal_mode.value,
            columns={column.name: column.type for column in table.columns},
            key=list(table.key),
        ),
        resolver=_resolver(dataset.resolver),
    )


def _resolver(resolver: ResolverRef | None) -> dict[str, Any] | None:
    return _without_empty(name=resolver.name, config=dict(resolver.config)) if resolver else None


def _period(period: Period) -> dict[str, Any]:
    return _without_empty(
        identifier=period.identifier,
        level=period.level,
        start=period.start,
        end=period.end,
        parent=period.parent,
    )


def _project(project: Project) -> dict[str, Any]:
    output = project.output
    form = None if output.format is DataFormat.PARQUET else output.format.value
    return _without_empty(
        name=project.name,
        description=project.description,
        input=_reference(project.input.dataset, project.input.dataset_version),
        operations=[_operation(operation) for operation in project.operations],
        resolver_overrides={
            str(each.dataset): _resolver(each.resolver) for each in project.resolver_overrides
        },
        output=_without_empty(location=output.location, format=form),
    )


def _reference(key: DatasetKey, version: int | None) -> dict[str, Any]:
    name = "dataset_id" if isinstance(key, UUID) else "dataset"
    return {name: str(key)} | _without_empty(dataset_version=version)


def _operation(operation: UpdateOperation) -> dict[str, Any]:
    arguments = _without_empty(
        joins=[_join(join) for join in operation.joins],
        assignments=[
            {"column": each.column, "expression": each.expression} for each in operation.assignments
        ],
    )
    return {"type": "update", "arguments": arguments}


def _join(join: RuntimeJoin) -> dict[str, Any]:
    cardinality = join.expected_cardinality
    return {
        "alias": join.alias,
        **_reference(join.dataset, join.dataset_version),
        "on": join.on,
        **_without_empty(
            join_type=None if join.join_type is JoinType.LEFT else join.join_type.value,
            expected_cardinality=cardinality.value if cardinality else None,
        ),
    }
