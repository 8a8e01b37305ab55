"""Checks a table of a database against the columns and the key of a dataset."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from millstream.catalog.model import Column, Dataset
from millstream.catalog.publishing.key_check import KeyCheck
from millstream.catalog.types import arrow_type
from millstream.connectors.jdbc.url import connector_of
from millstream.connectors.lookup.failures import UnreachableError
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import DatabaseColumn
from millstream.errors import CatalogError, RunError
from millstream.suggestions import same
from millstream.temporal import MICROS
from millstream.values import Lookup

_TIMEOUT = 600 * MICROS["s"]  # of one fetch


def check_table(dataset: Dataset, url: str, table: str) -> tuple[Column, ...]:
    """Returns the columns of a table with the types of the database.

    Raises MS-CATALOG-COLUMNS with all differences from the dataset, MS-CATALOG-KEY-DUPLICATE if the
    key does not identify its rows now, and MS-CATALOG-LOCATION if the table cannot be read.
    """
    with _location_errors(table):
        spec = _spec(url, table, ())
        found: dict[str, DatabaseColumn] = _call(url, "columns:table_columns", spec)
        differences = list(_differences(dataset, url, found))
        if differences:
            lines = "".join(f"\n  {each}" for each in differences)
            raise CatalogError(
                "MS-CATALOG-COLUMNS",
                f"the table {table} does not have the columns of {dataset.name}:{lines}",
                fix="Correct the columns of the dataset, or publish a view with these columns.",
            )
        _check_key(dataset, url, table)
    return tuple(Column(name, column.type) for name, column in found.items())


def _differences(dataset: Dataset, url: str, found: Mapping[str, DatabaseColumn]) -> Iterator[str]:
    for column in dataset.table.all_columns:
        exact = [name for name in found if name == column.name]
        names = exact or [name for name in found if same(name, column.name)]
        if not names:
            yield f"- column {column.name} {column.type}: the table has no such column"
        elif len(names) > 1:
            yield f"? column {column.name}: it can be {' or '.join(names)}"
        elif not _call(url, "columns:can_read", found[names[0]], arrow_type(column.type)):
            kind = found[names[0]].type
            yield f"~ column {column.name} {column.type}: it is {kind} in the database"


def _check_key(dataset: Dataset, url: str, table: str) -> None:
    with KeyCheck(dataset.table) as check:
        if not check.columns:
            return
        columns = [each for each in dataset.table.all_columns if each.name in check.columns]
        check.start_file("")
        for batch in _call(url, "scan:scan", _spec(url, table, columns), ()):
            check.add(batch)
        check.require_unique(dataset)


def _call(url: str, name: str, *arguments: Any) -> Any:
    """Calls a function of the connector that a URL belongs to."""
    connector, _ = connector_of(url)
    return pkgutil.resolve_name(f"millstream.connectors.{connector}.{name}")(*arguments)


def _spec(url: str, table: str, columns: Sequence[Column]) -> LookupSpec:
    connector, options = connector_of(url)
    return LookupSpec(
        table,
        connector,
        (*options.items(), ("table", table)),
        keys=(),
        columns=tuple(each.name for each in columns),
        schema=pa.schema([(each.name, arrow_type(each.type)) for each in columns]),
        access=Lookup(timeout=_TIMEOUT),
    )


@contextmanager
def _location_errors(table: str) -> Iterator[None]:
    try:
        yield
    except RunError as error:
        raise CatalogError("MS-CATALOG-LOCATION", error.cause, fix=error.fix) from None
    except UnreachableError as error:
        raise CatalogError(
            "MS-CATALOG-LOCATION",
            f"the table {table} cannot be read: {error.reason}.",
            fix="Check the URL and that the database is running.",
        ) from None
    except ModuleNotFoundError as error:
        raise CatalogError(
            "MS-CATALOG-DRIVER",
            f"the table {table} is in PostgreSQL, and the package {error.name} is not installed.",
            fix="Run pip install 'millstream[postgresql]'.",
        ) from None
