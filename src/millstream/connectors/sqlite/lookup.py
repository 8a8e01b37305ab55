"""Opens an SQLite database for lookups."""

from __future__ import annotations

from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import Store
from millstream.connectors.sqlite.store import SqliteStore


def open_store(spec: LookupSpec) -> Store:
    return SqliteStore(spec)
