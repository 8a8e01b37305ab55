"""Opens a PostgreSQL database for lookups, or reports that psycopg is not installed."""

from __future__ import annotations

from millstream.connectors.lookup.failures import not_installed
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import Store


def open_store(spec: LookupSpec) -> Store:
    try:
        from millstream.connectors.postgresql.store import PostgresStore
    except ImportError:
        raise not_installed(spec) from None
    return PostgresStore(spec)
