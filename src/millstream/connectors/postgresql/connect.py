"""Opens read-only connections to PostgreSQL with timeouts, and translates their errors."""

from __future__ import annotations

import math
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int4BinaryLoader, Int8BinaryLoader

from millstream.connectors.lookup.failures import (
    UnreachableError,
    cannot_connect,
    permission_denied,
    query_rejected,
)
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.postgresql.server_errors import (
    REJECTED_LOGIN,
    is_transient,
    reason_of,
)
from millstream.errors import RunError
from millstream.temporal import format_span

Connection = psycopg.Connection[tuple[Any, ...]]

_NO_SUCH_CHARACTER = ("22P05", "22021")
_LOGIN = "Check 'url', 'user' and the password."


class UnencodableTextError(RunError):
    """A string contains a character that the encoding of the database lacks."""


def settings_of(spec: LookupSpec) -> dict[str, Any]:
    """Returns the connection parameters for libpq. Without 'user' or 'password', libpq reads
    PGUSER, PGPASSWORD and PGPASSFILE."""
    settings = read_url(spec.option("url"))
    if not settings:
        raise cannot_connect(
            spec,
            "its 'url' cannot be read",
            "Write 'url' = 'postgresql://host:port/database' and set 'user' and 'password'.",
        )
    settings |= {name: spec.option(name) for name in ("user", "password") if spec.option(name)}
    if password := _password(spec):
        settings["password"] = password
    session = {
        "statement_timeout": max(1, spec.access.timeout // 1_000),
        "default_transaction_read_only": "on",
        "TimeZone": "UTC",
    }
    error_text = " ".join(f"-c {name}={value}" for name, value in session.items())
    settings["options"] = f"{settings.get('options', '')} {error_text}".strip()
    settings["connect_timeout"] = max(2, math.ceil(spec.timeout))
    settings["client_encoding"] = "utf8"
    return {"application_name": "millstream"} | settings


def _password(spec: LookupSpec) -> str:
    """Returns the password in a variable or file that a table names; empty if it names none."""
    variable, file = spec.option("password.env"), spec.option("password.file")
    if variable and variable not in os.environ:
        reason = f"the environment variable {variable} is not set"
        raise cannot_connect(spec, reason, "Set it for the driver and the executors.")
    if not file:
        return os.environ[variable] if variable else ""
    try:
        return Path(file).read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        reason = f"the file {file}: {error.strerror or 'it cannot be read'}"
        raise cannot_connect(spec, reason, "Check 'password.file'.") from None


def read_url(url: str) -> dict[str, Any]:
    """Returns the parameters in a URL; none if it cannot be read."""
    url = url.removeprefix("jdbc:")
    try:
        settings: dict[str, Any] = dict(conninfo_to_dict(url)) if "://" in url else {}
    except psycopg.ProgrammingError:
        return {}
    positions = [str(settings.get(name, "")) for name in ("host", "port", "dbname")]
    # libpq's messages quote the host and port, which may be part of a password in a wrong URL.
    if any("@" in place for place in positions) or not re.fullmatch(r"[\d,]*", positions[1]):
        return {}
    return settings


def connect(spec: LookupSpec) -> Connection:
    try:
        connection = psycopg.connect(**settings_of(spec), autocommit=True)
    except psycopg.OperationalError as error:
        reason = reason_of(error)
        if REJECTED_LOGIN.search(reason):
            raise cannot_connect(spec, reason, _LOGIN) from None
        raise UnreachableError(reason) from None
    # Dates and times are read as in the protocol, as integers since the year 2000: exact, and
    # without a Python object per value. "infinity" is such an integer, too.
    for name in ("timestamp", "timestamptz"):
        connection.adapters.register_loader(name, Int8BinaryLoader)
    connection.adapters.register_loader("date", Int4BinaryLoader)
    return connection


@contextmanager
def bounded(connection: Connection, spec: LookupSpec) -> Iterator[None]:
    """Limits the time of a query and translates its errors.

    The server cancels a query after `statement_timeout`. If the server hangs, the connection is
    closed a second later.
    """
    timed_out = threading.Event()

    def close_socket() -> None:
        timed_out.set()
        # The server may have closed it already.
        with suppress(OSError, psycopg.Error), _duplicate_socket(connection) as own_socket:
            own_socket.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(spec.timeout + 1, close_socket)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.Error as error:
        raise _to_millstream_error(spec, error, timed_out=timed_out.is_set()) from None
    finally:
        timer.cancel()


def _duplicate_socket(connection: Connection) -> socket.socket:
    return socket.socket(fileno=os.dup(connection.fileno()))


def _to_millstream_error(
    spec: LookupSpec, error: psycopg.Error, *, timed_out: bool
) -> RunError | UnreachableError:
    reason, state = reason_of(error), error.sqlstate or ""
    if timed_out or state == "57014":
        return UnreachableError(f"no answer within {format_span(spec.access.timeout)}")
    if state == "42501":
        return permission_denied(spec, reason)
    if is_transient(error):
        return UnreachableError(reason)
    if state in _NO_SUCH_CHARACTER:
        error_text = query_rejected(spec, reason)
        return UnencodableTextError(error_text.code, error_text.cause, fix=error_text.fix)
    return query_rejected(spec, reason)
