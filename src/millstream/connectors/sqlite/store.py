"""Asking SQLite."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import polars as pl

from millstream.connectors.lookup.connections import Connections
from millstream.connectors.lookup.failures import (
    UnreachableError,
    cannot_connect,
    one_line,
    refused,
)
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.values import empty_frame, frame_of
from millstream.connectors.sqlite.lookup_query import Question, question_of
from millstream.temporal import format_span

_SAMPLE = 100
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
# Others write the file at the moment, or the disk fails.
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR)
_SCHEMA_CHANGED = sqlite3.SQLITE_SCHEMA
_NO_DATABASE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


class SqliteStore:
    advice: ClassVar[str] = "Check 'path' and who else has the file open."

    def __init__(self, spec: LookupSpec) -> None:
        self._spec = spec
        self._connections: Connections[sqlite3.Connection] = Connections(lambda: connect(spec))
        self._question: Question | None = None

    def ask(self, keys: pl.DataFrame) -> pl.DataFrame:
        with self._connections.one() as connection, bounded(connection, self._spec):
            question = self._described(connection)
            keys = keys.filter(question.askable)
            if keys.is_empty():
                return empty_frame(self._spec)
            rows = connection.execute(question.statement, question.parameters(keys)).fetchall()
        return frame_of(self._spec, rows, question.readers)

    def some(self, most: int) -> pl.DataFrame:
        with self._connections.one() as connection, bounded(connection, self._spec):
            question = self._described(connection)
            rows = connection.execute(question.some, (most,)).fetchall()
        return frame_of(self._spec, rows, question.readers)

    def check(self) -> None:
        self.some(_SAMPLE)

    def close(self) -> None:
        self._connections.close()

    def _described(self, connection: sqlite3.Connection) -> Question:
        if self._question is None:
            self._question = question_of(self._spec, connection)
        return self._question


def connect(spec: LookupSpec) -> sqlite3.Connection:
    """Opens the database for reading."""
    path = spec.option("path").removeprefix("file:")
    if not Path(path).is_file():
        # SQLite would say only that it cannot open it, and never mend that.
        fix = "Check 'path'; it is relative to the SQL file."
        raise cannot_connect(spec, f"there is no file {path}", fix)
    connection = sqlite3.connect(
        f"file:{quote(path)}?mode=ro",
        uri=True,
        timeout=spec.timeout,
        isolation_level=None,
        check_same_thread=False,  # one thread at a time, not always the same
    )
    connection.execute("PRAGMA query_only = on")
    return connection


@contextmanager
def bounded(connection: sqlite3.Connection, spec: LookupSpec) -> Iterator[None]:
    """Ends a statement that takes too long, and turns SQLite's errors into ours."""
    until = time.monotonic() + spec.timeout
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        yield
    except sqlite3.Error as error:
        raise _meaning(error, spec) from None
    finally:
        connection.set_progress_handler(None, 0)


def _meaning(error: sqlite3.Error, spec: LookupSpec) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        return UnreachableError(f"no answer within {format_span(spec.access.timeout)}")
    if code in _PASSING:
        return UnreachableError(one_line(error))
    if code in _NO_DATABASE:
        return cannot_connect(spec, one_line(error), "Check the file that 'path' names.")
    if str(error).startswith("Could not decode to UTF-8"):
        return refused(spec, "it holds a text that is not UTF-8")
    return refused(spec, one_line(error))
