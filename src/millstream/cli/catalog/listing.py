"""`millstream catalog list`: datasets, periods and projects."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from millstream.cli.catalog.context import data_of, moment, open_catalog, print_table
from millstream.cli.errors import print_json
from millstream.cli.options import AsJson, CatalogUrl

if TYPE_CHECKING:
    from millstream.catalog.catalog import Catalog


class Kind(StrEnum):
    datasets = "datasets"
    periods = "periods"
    projects = "projects"


class StatusChoice(StrEnum):
    active = "active"
    disabled = "disabled"


def list_(
    kind: Annotated[
        Kind, typer.Argument(metavar="datasets|periods|projects", help="What to list.")
    ] = Kind.datasets,
    status: Annotated[
        StatusChoice | None, typer.Option(help="Only datasets with this status.")
    ] = None,
    level: Annotated[str | None, typer.Option(help="Only periods of this level.")] = None,
    after: Annotated[
        str | None, typer.Option(help="Start after this dataset (for paging).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The maximum number of datasets.")] = 100,
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """List datasets with their latest versions, or periods, or projects."""
    with open_catalog(catalog, as_json) as found:
        if kind is Kind.datasets:
            _list_datasets(found, status, after, limit, as_json)
        elif kind is Kind.periods:
            _list_periods(found, level, as_json)
        else:
            _list_projects(found, as_json)


def _list_datasets(
    catalog: Catalog, status: str | None, after: str | None, limit: int, as_json: bool
) -> None:
    page = catalog.datasets(status=status, after=after, limit=limit + 1)
    datasets, more = page[:limit], len(page) > limit
    if as_json:
        following = datasets[-1].name if more else None
        print_json({"datasets": [data_of(each) for each in datasets], "after": following})
        return
    rows = [
        (
            each.name,
            each.status.value,
            each.temporal_mode.value,
            str(each.latest_version or ""),
            str(each.versions),
            moment(each.published_at),
        )
        for each in datasets
    ]
    headings = ("dataset", "status", "temporal mode", "latest", "versions", "published (UTC)")
    print_table(*headings, rows=rows)
    if more:
        print(f"There are more: --after {datasets[-1].name}")


def _list_periods(catalog: Catalog, level: str | None, as_json: bool) -> None:
    periods = catalog.periods(level=level)
    if as_json:
        print_json({"periods": [data_of(each) for each in periods]})
        return
    rows = [
        (each.identifier, each.level, str(each.start), str(each.end), each.parent or "")
        for each in periods
    ]
    print_table("period", "level", "start", "end", "parent", rows=rows)


def _list_projects(catalog: Catalog, as_json: bool) -> None:
    projects = catalog.projects()
    if as_json:
        print_json({"projects": [data_of(each) for each in projects]})
        return
    rows = [
        (
            each.name,
            each.status.value,
            str(each.input.dataset),
            str(len(each.operations)),
            each.output.location,
        )
        for each in projects
    ]
    print_table("project", "status", "input", "operations", "output", rows=rows)
