"""The database of a sink or source: how to connect to it, and what its errors mean."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeVar

import psycopg
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_delay,
    wait_random_exponential,
)

from millstream.connectors.postgresql.connect import Connection, read_url
from millstream.connectors.postgresql.server_errors import REJECTED_LOGIN, is_transient, reason_of
from millstream.errors import RunError
from millstream.temporal import parse_span

T = TypeVar("T")
# SQLSTATE of errors of replication slots: lost or logical decoding disabled, missing, too many.
_OF_SLOTS = ("55000", "42704", "53400")
_LOG = logging.getLogger(__name__)
# A reader that waits at most this long between two attempts notices soon that the server is back.
_LONGEST_PAUSE = 5.0
_KEEP_ALIVE = {"keepalives_idle": 30, "tcp_user_timeout": 60_000}  # seconds, milliseconds


class Owner(Protocol):
    """A source or a sink."""

    @property
    def name(self) -> str: ...
    def option(self, name: str, default: str = "") -> str: ...


class UnavailableError(Exception):
    """The server did not respond; a retry may succeed."""


@dataclass(frozen=True, slots=True)
class Target:
    """The table of a sink or source. Executors get it, so it names the place of the password
    only.

    `role`: sink or source.
    """

    sink: str
    url: str
    table: str
    user: str = ""
    password_env: str = ""
    password_file: str = ""
    connect_seconds: float = 30.0
    retry_seconds: float = 600.0
    role: str = "sink"

    @classmethod
    def of(cls, role: str, owner: Owner, base: Path) -> Self:
        file = owner.option("password.file")
        return cls(
            owner.name,
            owner.option("url"),
            owner.option("table", owner.name),
            owner.option("user"),
            owner.option("password.env"),
            str((base / file).resolve()) if file else "",
            parse_span(owner.option("connect.timeout", "30s")) / 1e6,
            parse_span(owner.option("retry.timeout", "10m")) / 1e6,
            role,
        )

    @property
    def owner(self) -> str:
        return f"{self.role} {self.sink}"

    @property
    def address(self) -> str:
        settings = read_url(self.url)
        return f"{settings.get('host', 'localhost')}:{settings.get('port') or 5432}"

    def connect(self, **more: str) -> Connection:
        """Opens a connection; `more` are parameters of libpq."""
        settings = read_url(self.url)
        if not settings:
            raise self.rejected("its 'url' cannot be read")
        if self.user:
            settings["user"] = self.user
        if password := self._password():
            settings["password"] = password
        session = {"TimeZone": "UTC", "DateStyle": "ISO", "client_min_messages": "warning"}
        options = " ".join(f"-c {name}={value}" for name, value in session.items())
        settings["options"] = f"{settings.get('options', '')} {options}".strip()
        settings["client_encoding"] = "utf8"
        settings["connect_timeout"] = max(2, min(10, math.ceil(self.connect_seconds)))
        try:
            return psycopg.connect(
                **({"application_name": "millstream"} | _KEEP_ALIVE | settings | more),
                autocommit=True,
            )
        except psycopg.OperationalError as error:
            reason = reason_of(error)
            if REJECTED_LOGIN.search(reason):
                raise self.rejected(reason) from None
            raise UnavailableError(reason) from None

    def _password(self) -> str:
        """Returns the password; empty: libpq reads PGPASSWORD or PGPASSFILE."""
        if self.password_env:
            if self.password_env not in os.environ:
                raise self.rejected(f"the environment variable {self.password_env} is not set")
            return os.environ[self.password_env]
        if self.password_file:
            try:
                return Path(self.password_file).read_text(encoding="utf-8").rstrip("\r\n")
            except OSError as error:
                what = error.strerror or "it cannot be read"
                raise self.rejected(f"the file {self.password_file}: {what}") from None
        return ""

    def rejected(self, reason: str) -> RunError:
        return RunError(
            "MS-RUN-POSTGRESQL-LOGIN",
            f"{self.owner}: cannot log in to the database at {self.address}: {reason}.",
            fix="Check 'url', 'user' and the password: PGPASSWORD, 'password.env' or "
            "'password.file'.",
        )

    def unavailable(self, reason: str, seconds: float) -> RunError:
        return RunError(
            "MS-RUN-POSTGRESQL-CONNECT",
            f"{self.owner}: the database at {self.address} did not respond for {seconds:g}s: "
            f"{reason}.",
            fix="Check 'url' and that the server runs, and run the job again. 'connect.timeout' "
            "and 'retry.timeout' let the job wait longer.",
        )

    def table_error(self, cause: str, fix: str) -> RunError:
        return RunError("MS-RUN-POSTGRESQL-TABLE", f"{self.owner}: {cause}.", fix=fix)

    def slot_error(self, cause: str) -> RunError:
        return RunError(
            "MS-RUN-POSTGRESQL-SLOT",
            f"{self.owner}: {cause}.",
            fix="If the slot was dropped or invalidated, changes are lost: empty the sink and "
            "start with a new checkpoint. 'max_slot_wal_keep_size' of the server limits how much a "
            "stopped job may fall behind.",
        )

    def translate(self, error: psycopg.Error) -> RunError | UnavailableError:
        reason, state = reason_of(error), error.sqlstate or ""
        if self.role == "source" and state in _OF_SLOTS:
            return self.slot_error(reason)
        if is_transient(error):
            return UnavailableError(reason)
        if state == "42501":
            if self.role == "source":
                return self.table_error(reason, f"GRANT SELECT ON {self.table} TO …")
            grant = f"GRANT SELECT, INSERT, UPDATE, DELETE ON {self.table} TO …, and CREATE ON "
            return self.table_error(reason, f"Grant the permission: {grant}its schema.")
        if state.startswith(("22", "23")):
            fix = "Correct the query or the table, and run the job again."
            if self.role == "source":
                fix = "Correct the row, or declare the column STRING."
            elif state == "23505":
                fix = "Set 'key.columns', so that a row replaces the row with the same key."
            elif state in ("22021", "22P05"):
                fix = "Remove the character in the query: replace(column, chr(0), '')."
            elif state == "23502":
                fix = "Exclude rows without this value in the query: WHERE … IS NOT NULL."
            return RunError(
                "MS-RUN-POSTGRESQL-VALUE",
                f"{self.owner}: the database rejects a value of {self.table}: {reason}.",
                fix=fix,
            )
        return self.table_error(
            f"the database rejects a statement for {self.table}: {reason}",
            "Check the table in the database, and run the job again.",
        )


class Session:
    """A connection that is opened on use, and opened again after a failure."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection: Connection | None = None

    def run(self, work: Callable[[Connection], T], seconds: float | None = None) -> T:
        """Runs `work` in a transaction; repeats it for `seconds` while the server is unavailable.

        `work` may have been committed before it is repeated: if the connection is lost during the
        commit, the client does not know its outcome.
        """
        limit = self._target.retry_seconds if seconds is None else seconds
        retrying = Retrying(
            retry=retry_if_exception_type(UnavailableError),
            wait=wait_random_exponential(multiplier=0.2, max=_LONGEST_PAUSE),
            stop=stop_after_delay(limit),
            before_sleep=self._report_wait,
            reraise=True,
        )
        try:
            for attempt in retrying:
                with attempt:
                    return self._once(work)
        except UnavailableError as error:
            raise self._target.unavailable(str(error), limit) from None
        raise AssertionError("the last attempt returns or raises")

    def take(self) -> Connection:
        """Returns an open connection, which the caller closes; waits for the server."""
        self.run(lambda connection: connection.execute("SELECT 1"))
        connection, self._connection = self._connection, None
        assert connection is not None
        return connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _once(self, work: Callable[[Connection], T]) -> T:
        if self._connection is None:
            self._connection = self._target.connect()
        try:
            with self._connection.transaction():
                return work(self._connection)
        except psycopg.Error as error:
            self.close()
            raise self._target.translate(error) from None
        except BaseException:
            self.close()
            raise

    def _report_wait(self, state: RetryCallState) -> None:
        if state.attempt_number == 2:  # the first retry often succeeds: a connection was stale
            _LOG.warning(
                "%s: the database at %s does not respond (%s); waiting for it.",
                self._target.owner,
                self._target.address,
                state.outcome.exception() if state.outcome else "",
            )
