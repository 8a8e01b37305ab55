"""Opens SQLite databases for reading, and finds their tables and columns."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from millstream.connectors.lookup.failures import (
    UnreachableError,
    cannot_connect,
    find_name,
    one_line,
    query_rejected,
)
from millstream.connectors.lookup.spec import LookupSpec
from millstream.temporal import format_span

_STEPS = 10_000  # instructions of SQLite's virtual machine between two checks of the timeout
# Another process is writing the file, or the disk fails.
_TRANSIENT = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR)
_NO_DATABASE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def connect(spec: LookupSpec) -> sqlite3.Connection:
    """Opens the database for reading."""
    path = spec.option("path").removeprefix("file:")
    if not Path(path).is_file():
        # SQLite reports only that it cannot open the file, and retries would not help.
        fix = "Check 'path'; it is relative to the SQL file."
        raise cannot_connect(spec, f"there is no file {path}", fix)
    connection = sqlite3.connect(
        f"file:{quote(path)}?mode=ro",
        uri=True,
        timeout=spec.timeout,
        isolation_level=None,
        check_same_thread=False,  # used by several threads, one at a time
    )
    connection.execute("PRAGMA query_only = on")
    return connection


@contextmanager
def bounded(connection: sqlite3.Connection, spec: LookupSpec) -> Iterator[None]:
    """Cancels a statement after the timeout, and translates SQLite's errors."""
    until = time.monotonic() + spec.timeout
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        yield
    except sqlite3.Error as error:
        raise _to_millstream_error(error, spec) from None
    finally:
        connection.set_progress_handler(None, 0)


def _to_millstream_error(error: sqlite3.Error, spec: LookupSpec) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        return UnreachableError(f"no answer within {format_span(spec.access.timeout)}")
    if code in _TRANSIENT:
        return UnreachableError(one_line(error))
    if code in _NO_DATABASE:
        return cannot_connect(spec, one_line(error), "Check the file that 'path' names.")
    if str(error).startswith("Could not decode to UTF-8"):
        return query_rejected(spec, "it contains a string that is not UTF-8")
    return query_rejected(spec, one_line(error))


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def describe(spec: LookupSpec, connection: sqlite3.Connection) -> tuple[str, dict[str, str]]:
    """Returns the table and its columns, as the database spells them."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    table = find_name(spec, "table", spec.name, [str(name) for (name,) in tables])
    found = connection.execute("SELECT name FROM pragma_table_xinfo(?)", (table,))
    known = [str(name) for (name,) in found]
    wanted = [*spec.read, *(condition.column for condition in spec.conditions)]
    return table, {each: find_name(spec, "column", each, known) for each in wanted}
