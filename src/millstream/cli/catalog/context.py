"""What the commands of a catalog share: opening it, and values as text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from millstream.cli.errors import reported

if TYPE_CHECKING:
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.model import DatasetKey

DatasetName = Annotated[str, typer.Argument(metavar="DATASET", help="Name or ID of a dataset.")]


@contextmanager
def open_catalog(url: str | None, as_json: bool) -> Iterator[Catalog]:
    """The catalog of a command; its errors are reported."""
    with reported(as_json):
        from millstream.catalog.catalog import Catalog

        with Catalog.open(url, create=False) as catalog:
            yield catalog


def dataset_key(text: str) -> DatasetKey:
    from millstream.catalog.definitions.load import dataset_key

    return dataset_key(text)


def data_of(value: Any) -> Any:
    """A value of the catalog as data for JSON, without positions."""
    from pydantic import TypeAdapter

    return _without_positions(TypeAdapter(type(value)).dump_python(value, mode="json"))


def _without_positions(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _without_positions(v) for k, v in data.items() if k != "positions"}
    return [_without_positions(each) for each in data] if isinstance(data, list) else data


def moment(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M}" if time else ""


def print_table(*columns: str, rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False, show_header=any(columns))
    for row in rows:
        table.add_row(*row)
    console = Console(file=sys.stdout, markup=False, highlight=False)
    if not console.is_terminal:
        console.width = 200  # a table in a file need not fit a screen
    console.print(table)
