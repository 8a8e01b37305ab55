"""Classifies the errors of a PostgreSQL server: temporary, or of the login."""

from __future__ import annotations

import re

import psycopg

from millstream.connectors.lookup.failures import one_line

# libpq reports no SQLSTATE when the server rejects a connection.
REJECTED_LOGIN = re.compile(
    r"authentication failed|no password supplied|does not exist|no pg_hba\.conf entry"
    r"|not permitted to log in|permission denied|does not support SSL|certificate"
    r"|role .* is not|invalid connection option"
)
# SQLSTATE classes that a retry may fix: lost connections, serialization failures, insufficient
# resources, locks, cancellation by an operator or a timeout, system errors.
_TRANSIENT = ("08", "40", "53", "55", "57", "58")
_STALE_PLAN = "0A000"  # "cached plan must not change result type": a table was altered


def is_transient(error: psycopg.Error) -> bool:
    """Whether the connection is lost, or a retry may succeed for another reason."""
    state = error.sqlstate or ""
    lost = not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return lost or state.startswith(_TRANSIENT) or state == _STALE_PLAN


def reason_of(error: psycopg.Error) -> str:
    """Returns the server's message without its prefix and details."""
    text = error.diag.message_primary or one_line(error)
    return one_line(text.rsplit("FATAL: ", 1)[-1])
