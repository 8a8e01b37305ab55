"""Connections to PostgreSQL: read-only, bounded in time, and what their failures mean."""

from __future__ import annotations

import math
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int4BinaryLoader, Int8BinaryLoader

from millstream.connectors.lookup.failures import (
    UnreachableError,
    cannot_connect,
    not_allowed,
    one_line,
    refused,
)
from millstream.connectors.lookup.spec import LookupSpec
from millstream.errors import RunError
from millstream.temporal import format_span

Connection = psycopg.Connection[tuple[Any, ...]]

# A server sends no SQLSTATE that libpq would hand on when it refuses a connection.
_FINAL = re.compile(
    r"authentication failed|no password supplied|does not exist|no pg_hba\.conf entry"
    r"|not permitted to log in|permission denied|does not support SSL|certificate"
    r"|role .* is not|invalid connection option"
)
# Lost connections, rollbacks that ask to try again, no resources, a lock, an operator's or a
# timeout's cancellation, failures of the system: what may be otherwise in a moment.
_PASSING = ("08", "40", "53", "55", "57", "58")
_STALE_PLAN = "0A000"  # "cached plan must not change result type": a table was altered
_NO_SUCH_CHARACTER = ("22P05", "22021")
_LOGIN = "Check 'url', 'user' and 'password'."


class UnsayableError(RunError):
    """A text has a character that the database's own encoding lacks."""


def settings_of(spec: LookupSpec) -> dict[str, Any]:
    """What libpq is told. Without user or password it looks for them as always: PGUSER,
    PGPASSWORD, PGPASSFILE."""
    url = spec.option("url").removeprefix("jdbc:")
    try:
        settings = conninfo_to_dict(url) if "://" in url else {}
    except psycopg.ProgrammingError:
        settings = {}
    places = [str(settings.get(name, "")) for name in ("host", "port", "dbname")]
    # libpq quotes what it took for a host or port, which may be a piece of a password.
    readable = not any("@" in place for place in places) and re.fullmatch(r"[\d,]*", places[1])
    if not settings or not readable:
        raise cannot_connect(
            spec,
            "its 'url' cannot be read",
            "Write 'postgresql://host:port/database', and 'user' and 'password' beside it.",
        )
    settings |= {name: spec.option(name) for name in ("user", "password") if spec.option(name)}
    session = {
        "statement_timeout": max(1, spec.access.timeout // 1_000),
        "default_transaction_read_only": "on",
        "TimeZone": "UTC",
    }
    told = " ".join(f"-c {name}={value}" for name, value in session.items())
    settings["options"] = f"{settings.get('options', '')} {told}".strip()
    settings["connect_timeout"] = max(2, math.ceil(spec.timeout))
    settings["client_encoding"] = "utf8"
    return {"application_name": "millstream"} | settings


def connect(spec: LookupSpec) -> Connection:
    try:
        connection = psycopg.connect(**settings_of(spec), autocommit=True)
    except psycopg.OperationalError as error:
        reason = _reason(error)
        if _FINAL.search(reason):
            raise cannot_connect(spec, reason, _LOGIN) from None
        raise UnreachableError(reason) from None
    # On the wire, times are whole numbers since the year 2000, and are read as that: exactly,
    # and without an object a value. "infinity" is a number, too.
    for name in ("timestamp", "timestamptz"):
        connection.adapters.register_loader(name, Int8BinaryLoader)
    connection.adapters.register_loader("date", Int4BinaryLoader)
    return connection


@contextmanager
def bounded(connection: Connection, spec: LookupSpec) -> Iterator[None]:
    """The server ends a question that takes too long. One that hangs ends nothing, so after a
    moment more its connection is cut from here."""
    cut = threading.Event()

    def cut_off() -> None:
        cut.set()
        # The server may have closed it in the same moment.
        with suppress(OSError, psycopg.Error), _socket_of(connection) as wire:
            wire.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(spec.timeout + 1, cut_off)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.Error as error:
        raise _meaning(spec, error, cut=cut.is_set()) from None
    finally:
        timer.cancel()


def _socket_of(connection: Connection) -> socket.socket:
    return socket.socket(fileno=os.dup(connection.fileno()))


def _meaning(spec: LookupSpec, error: psycopg.Error, *, cut: bool) -> RunError | UnreachableError:
    reason, state = _reason(error), error.sqlstate or ""
    if cut or state == "57014":
        return UnreachableError(f"no answer within {format_span(spec.access.timeout)}")
    if state == "42501":
        return not_allowed(spec, reason)
    lost = not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    if lost or state.startswith(_PASSING) or state == _STALE_PLAN:
        return UnreachableError(reason)
    if state in _NO_SUCH_CHARACTER:
        told = refused(spec, reason)
        return UnsayableError(told.code, told.cause, fix=told.fix)
    return refused(spec, reason)


def _reason(error: psycopg.Error) -> str:
    """The message, without where it came from and without what only a programmer needs."""
    text = error.diag.message_primary or one_line(error)
    return one_line(text.rsplit("FATAL: ", 1)[-1])
