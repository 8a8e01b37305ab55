"""Asking PostgreSQL."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import polars as pl
from psycopg import sql

from millstream.connectors.lookup.connections import Connections
from millstream.connectors.lookup.failures import UnreachableError, refused
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.values import empty_frame, frame_of
from millstream.connectors.postgresql.connect import (
    Connection,
    UnsayableError,
    bounded,
    connect,
)
from millstream.connectors.postgresql.describe import describe
from millstream.connectors.postgresql.lookup_query import Question, question_of


class PostgresStore:
    advice: ClassVar[str] = "Check 'url' and that the database is up."

    def __init__(self, spec: LookupSpec) -> None:
        self._spec = spec
        self._connections: Connections[Connection] = Connections(lambda: connect(spec))
        self._question: Question | None = None
        self._asking_for_it = threading.Lock()

    def ask(self, keys: pl.DataFrame) -> pl.DataFrame:
        question = self._described()
        keys = keys.filter(question.askable)
        if keys.is_empty():
            return empty_frame(self._spec)
        try:
            rows = self._rows(question.statement, question.parameters(keys))
        except UnsayableError:
            # Such a key is not there. Which one it is, is found by halves.
            if keys.height == 1:
                return empty_frame(self._spec)
            half = keys.height // 2
            return pl.concat([self.ask(keys[:half]), self.ask(keys[half:])])
        except UnreachableError:
            # It may come back as another version of itself, with a table of other types.
            self._question = None
            raise
        return frame_of(self._spec, rows, question.readers)

    def some(self, most: int) -> pl.DataFrame:
        question = self._described()
        return frame_of(self._spec, self._rows(question.some, [most]), question.readers)

    def check(self) -> None:
        question = self._described()
        none: list[Any] = [[] for _ in self._spec.keys]
        self._rows(question.statement, [*none, *question.conditions])

    def close(self) -> None:
        self._connections.close()

    def _described(self) -> Question:
        with self._asking_for_it:
            if self._question is None:
                with self._connections.one() as connection, bounded(connection, self._spec):
                    self._question = question_of(self._spec, describe(self._spec, connection))
            return self._question

    def _rows(self, statement: sql.Composed, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._connections.one() as connection, bounded(connection, self._spec):
            cursor = connection.cursor(binary=True)
            try:
                return cursor.execute(statement, parameters).fetchall()
            except UnicodeDecodeError:
                raise refused(self._spec, "it holds a text that is not UTF-8") from None
