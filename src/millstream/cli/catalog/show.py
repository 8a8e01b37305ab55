"""`millstream catalog show` and `diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from millstream.cli.catalog.context import (
    DatasetName,
    data_of,
    dataset_key,
    moment,
    open_catalog,
    print_table,
)
from millstream.cli.errors import print_json
from millstream.cli.formats import size
from millstream.cli.options import AsJson, CatalogUrl
from millstream.errors import CatalogError

if TYPE_CHECKING:
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.model import Dataset, DatasetVersion, Project

_VERSIONS_SHOWN = 20


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name or ID of a dataset.")],
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", min=1, help="Show this version.")
    ] = None,
    project: Annotated[
        bool, typer.Option("--project", help="Show the project NAME instead of a dataset.")
    ] = False,
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show a dataset with its columns and versions, one version with its files, or a project."""
    with open_catalog(catalog, as_json) as found:
        if project:
            _show_project(found, name, as_json)
            return
        _reject_project(found, name)
        if version is not None:
            _show_version(found, name, version, as_json)
        else:
            _show_dataset(found, name, as_json)


def _reject_project(catalog: Catalog, name: str) -> None:
    """Raises an error with the option `--project` if only a project has this name."""
    reader = catalog.reader
    project = reader.find_project(name)
    if project is not None and reader.find_dataset(dataset_key(name)) is None:
        raise CatalogError(
            "MS-CATALOG-UNKNOWN",
            f"there is no dataset {name}, but a project has this name.",
            fix=f"Show the project: millstream catalog show {project.name} --project",
        )


def _show_dataset(catalog: Catalog, name: str, as_json: bool) -> None:
    dataset = catalog.dataset(dataset_key(name))
    versions = catalog.versions(dataset.id)
    if as_json:
        print_json(data_of(dataset) | {"versions": [data_of(each) for each in versions]})
        return
    _print_dataset(dataset)
    if not versions:
        print("\nNo version is published.")
        return
    print()
    rows = [_version_row(each) for each in versions[:_VERSIONS_SHOWN]]
    print_table(
        "version", "status", "published (UTC)", "rows", "size", "format", "location", rows=rows
    )
    if len(versions) > _VERSIONS_SHOWN:
        print(f"{len(versions) - _VERSIONS_SHOWN} older versions are not shown.")


def _print_dataset(dataset: Dataset) -> None:
    print(f"{dataset.name}  {dataset.id}  {dataset.status.value}")
    if dataset.description:
        print(dataset.description)
    table = dataset.table
    key = f", key {', '.join(table.key)}" if table.key else ""
    print(f"table {table.name}, temporal mode {table.temporal_mode.value}{key}")
    if dataset.resolver is not None:
        settings = ", ".join(f"{key} = {value}" for key, value in dataset.resolver.config.items())
        print(f"resolver {dataset.resolver.name}{f': {settings}' if settings else ''}")
    print()
    print_table("column", "type", rows=[(each.name, each.type) for each in table.all_columns])


def _version_row(version: DatasetVersion) -> tuple[str, ...]:
    return (
        str(version.number),
        version.status.value,
        moment(version.published_at),
        "" if version.row_count is None else f"{version.row_count:,}",
        size(version.total_bytes) if version.file_count else "",
        version.format.value,
        version.location,
    )


def _show_version(catalog: Catalog, name: str, number: int, as_json: bool) -> None:
    dataset = catalog.dataset(dataset_key(name))
    version = catalog.version(dataset.id, number)
    files = catalog.reader.files(dataset.id, number)
    if as_json:
        print_json(data_of(version) | {"files": [data_of(each) for each in files]})
        return
    print(f"{dataset.name} version {number}, {version.status.value}")
    facts: dict[str, Any] = {
        "published": f"{moment(version.published_at)} UTC",
        "format": version.format.value,
        "location": version.location,
        "options": ", ".join(f"{key}={value}" for key, value in version.options.items()),
        "rows": "" if version.row_count is None else f"{version.row_count:,}",
        "key": ", ".join(version.key),
        "content": version.content_hash or "not reproducible: the rows may change",
        "note": version.note,
    }
    print_table("", "", rows=[(key, value) for key, value in facts.items() if value])
    print()
    print_table("column", "type", rows=[(each.name, each.type) for each in version.schema])
    if files:
        print()
        rows = [(each.path or version.location, size(each.size), each.sha256) for each in files]
        print_table("file", "size", "sha256", rows=rows)


def _show_project(catalog: Catalog, name: str, as_json: bool) -> None:
    from millstream.catalog.lookup import require_project

    project = require_project(catalog.reader, name)
    if as_json:
        print_json(data_of(project))
    else:
        _print_project(project)


def _print_project(project: Project) -> None:
    print(f"{project.name}  {project.status.value}, revision {project.revision}")
    if project.description:
        print(project.description)
    print(f"input {project.input.dataset}, {_version_text(project.input.dataset_version)}")
    for number, operation in enumerate(project.operations, start=1):
        print(f"operation {number}: update")
        for join in operation.joins:
            version, kind = _version_text(join.dataset_version), join.join_type.value
            print(f"  {kind} join {join.dataset} ({version}) as {join.alias} on {join.on}")
        for each in operation.assignments:
            print(f"  {each.column} = {' '.join(each.expression.split())}")
    for override in project.resolver_overrides:
        print(f"resolver of {override.dataset}: {override.resolver.name}")
    print(f"output {project.output.location}, {project.output.format.value}")


def _version_text(number: int | None) -> str:
    return "latest version" if number is None else f"version {number}"


def diff(
    dataset: DatasetName,
    old: Annotated[int, typer.Argument(metavar="OLD", min=1, help="Number of a version.")],
    new: Annotated[
        int | None,
        typer.Argument(metavar="NEW", min=1, help="Another version; by default the latest."),
    ] = None,
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Compare two versions of a dataset: columns, rows, files."""
    with open_catalog(catalog, as_json) as found:
        difference = found.diff(dataset_key(dataset), old, new)
        if as_json:
            print_json(data_of(difference))
            return
        print(f"{difference.dataset} version {difference.old.number} -> {difference.new.number}")
        for line in difference.lines():
            print(f"  {line}")
