"""Databases that can be asked, behind one small interface."""

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
    """Asked from several threads at once. Raises UnreachableError if asking again may help."""

    advice: ClassVar[str]  # what to do if it cannot be reached

    def ask(self, keys: pl.DataFrame) -> pl.DataFrame:
        """The rows of `spec.read` that have one of the keys, by one statement. Rows of other keys
        may be among them: some databases hold 'a' and 'A' for the same."""
        ...

    def some(self, most: int) -> pl.DataFrame:
        """So many rows of `spec.read` at most, whatever their keys."""
        ...

    def check(self) -> None:
        """Table, columns and types, as the job declares them."""
        ...

    def close(self) -> None: ...


def open_store(spec: LookupSpec) -> Store:
    """The store of a spec; it connects when it is asked."""
    for name in spec.read:
        if family(spec.schema.field(name).type) == "other":
            raise wrong_type(spec, name, "a lookup reads plain values only", "STRING")
    # Workers have no registry of connectors: the driver sends the name of the implementation.
    named = spec.store or f"millstream.connectors.{spec.connector}.lookup:open_store"
    return cast("Store", pkgutil.resolve_name(named)(spec))


def check(spec: LookupSpec) -> None:
    """Before a job starts: can its table be asked, and read as it is declared? Asked once, since
    whoever starts the job is there to read the answer."""
    with _opened(spec) as store:
        store.check()


def read_whole(spec: LookupSpec, most: int) -> pa.Table:
    """All of a table's keys and columns, if it has no more than so many rows."""
    with _opened(spec) as store:
        return store.some(most).select(spec.read).to_arrow().cast(_read_schema(spec))


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
