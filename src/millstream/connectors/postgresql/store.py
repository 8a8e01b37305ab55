"""Looks up rows of a PostgreSQL table by their keys."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import polars as pl
from psycopg import sql

from millstream.connectors.lookup.connections import Connections
from millstream.connectors.lookup.failures import UnreachableError, query_rejected
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.values import empty_frame, to_frame
from millstream.connectors.postgresql.connect import (
    Connection,
    UnencodableTextError,
    bounded,
    connect,
)
from millstream.connectors.postgresql.describe import describe
from millstream.connectors.postgresql.lookup_query import LookupQuery, build_query


class PostgresStore:
    advice: ClassVar[str] = "Check 'url' and that the database is running."

    def __init__(self, spec: LookupSpec) -> None:
        self._spec = spec
        self._connections: Connections[Connection] = Connections(lambda: connect(spec))
        self._query: LookupQuery | None = None
        self._prepare_lock = threading.Lock()

    def fetch(self, keys: pl.DataFrame) -> pl.DataFrame:
        query = self._prepare()
        keys = keys.filter(query.supported_keys)
        if keys.is_empty():
            return empty_frame(self._spec)
        try:
            rows = self._rows(query.statement, query.parameters(keys))
        except UnencodableTextError:
            # Such a key is absent. Bisect the keys to find it.
            if keys.height == 1:
                return empty_frame(self._spec)
            half = keys.height // 2
            return pl.concat([self.fetch(keys[:half]), self.fetch(keys[half:])])
        except UnreachableError:
            # The table may have changed when the database is available again.
            self._query = None
            raise
        return to_frame(self._spec, rows, query.readers)

    def first_rows(self, limit: int) -> pl.DataFrame:
        query = self._prepare()
        return to_frame(self._spec, self._rows(query.first_rows, [limit]), query.readers)

    def check(self) -> None:
        query = self._prepare()
        none: list[Any] = [[] for _ in self._spec.keys]
        self._rows(query.statement, [*none, *query.conditions])

    def close(self) -> None:
        self._connections.close()

    def _prepare(self) -> LookupQuery:
        with self._prepare_lock:
            if self._query is None:
                with self._connections.one() as connection, bounded(connection, self._spec):
                    self._query = build_query(self._spec, describe(self._spec, connection))
            return self._query

    def _rows(self, statement: sql.Composed, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._connections.one() as connection, bounded(connection, self._spec):
            cursor = connection.cursor(binary=True)
            try:
                return cursor.execute(statement, parameters).fetchall()
            except UnicodeDecodeError:
                raise query_rejected(self._spec, "it contains a string that is not UTF-8") from None
