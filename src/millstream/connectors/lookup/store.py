"""The interface of databases that support lookups."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Protocol, cast

import polars as pl
import pyarrow as pa

from millstream.connectors.lookup.failures import (
    UnreachableError,
    cannot_connect,
    wrong_type,
)
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import family


class Store(Protocol):
    """A database table. Methods are called from several threads at once, and raise
    UnreachableError if a retry may help."""

    advice: ClassVar[str]  # what to do if it cannot be reached

    def fetch(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Returns the columns `spec.read` of the rows with one of the keys, by one statement.

        The result may include rows of other keys: some databases regard 'a' and 'A' as equal.
        """
        ...

    def first_rows(self, limit: int) -> pl.DataFrame:
        """Returns the columns `spec.read` of at most `limit` rows."""
        ...

    def check(self) -> None:
        """Checks that the table has the columns and types that the job declares."""
        ...

    def close(self) -> None: ...


def open_store(spec: LookupSpec) -> Store:
    """Returns the store of a spec; it connects at the first query."""
    for name in spec.read:
        if family(spec.schema.field(name).type) == "other":
            raise wrong_type(spec, name, "lookups support only primitive types", "STRING")
    # Workers have no connector registry, so the driver sends the name of the implementation.
    named = spec.store or f"millstream.connectors.{spec.connector}.lookup:open_store"
    return cast("Store", pkgutil.resolve_name(named)(spec))


def check(spec: LookupSpec) -> None:
    """Checks a table before the job starts, without retries: the user is there to read errors."""
    with _opened(spec) as store:
        store.check()


def read_whole(spec: LookupSpec, limit: int) -> pa.Table:
    """Returns the keys and columns of at most `limit` rows of a table."""
    with _opened(spec) as store:
        return store.first_rows(limit).select(spec.read).to_arrow().cast(_read_schema(spec))


def _read_schema(spec: LookupSpec) -> pa.Schema:
    return pa.schema([spec.schema.field(name) for name in spec.read])


@contextmanager
def _opened(spec: LookupSpec) -> Iterator[Store]:
    store = open_store(spec)
    try:
        yield store
    except UnreachableError as error:
        raise cannot_connect(spec, error.reason, store.advice) from None
    finally:
        store.close()
