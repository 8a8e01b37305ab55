"""A table of a database: how it is reached, and its errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    NoSuchTableError,
    SQLAlchemyError,
)

from millstream.connectors.lake.table import TableName
from millstream.errors import RunError
from millstream.suggestions import same

_MOST = 300  # characters of a driver's message


class Owner(Protocol):
    def option(self, name: str, default: str = "") -> str: ...


@dataclass(frozen=True, slots=True)
class Target:
    """A table of a database; it is sent to executors. It has no password, only where it is."""

    owner: str
    url: str
    table: str
    user: str = ""
    password_env: str = ""
    password_file: str = ""

    @classmethod
    def of(cls, owner: str, options: Owner, base: Path) -> Target:
        file = options.option("password.file")
        return cls(
            owner,
            options.option("url"),
            options.option("table"),
            options.option("user"),
            options.option("password.env"),
            str((base / file).resolve()) if file else "",
        )

    @property
    def name(self) -> TableName:
        return TableName(self.owner, self.table, "MS-RUN-DATABASE-TABLE")

    @contextmanager
    def connected(self) -> Iterator[sa.Connection]:
        """Yields a connection with a transaction, which is committed at the end of the block."""
        with self.described(), _engine(self).begin() as connection:
            yield connection

    def reflect(self, connection: sa.Connection) -> sa.Table | None:
        """Returns the table or view with its columns; None if the database has none."""
        schema, _, name = self.table.rpartition(".")
        inspector = sa.inspect(connection)
        known = inspector.get_table_names(schema=schema or None)
        known += inspector.get_view_names(schema=schema or None)
        found = name if name in known else next((each for each in known if same(each, name)), None)
        if found is None:
            return None
        return sa.Table(found, sa.MetaData(), schema=schema or None, autoload_with=connection)

    def require(self, connection: sa.Connection) -> sa.Table:
        """Returns the table; raises RunError if the database has none."""
        found = self.reflect(connection)
        if found is None:
            raise self.name.error(
                f"the database has no table {self.table}", "Correct 'table', or create it."
            )
        return found

    @contextmanager
    def described(self) -> Iterator[None]:
        """Raises errors of SQLAlchemy and of drivers as errors of Millstream."""
        try:
            yield
        except (ImportError, NoSuchModuleError) as error:
            raise RunError(
                "MS-RUN-DATABASE-DRIVER",
                f"{self.owner}: the driver of its database is not installed: {error}.",
                fix="Install it with pip, or name another one in 'url', as in "
                "mysql+pymysql://host/database.",
            ) from None
        except (SQLAlchemyError, OSError) as error:
            raise RunError(
                "MS-RUN-DATABASE-FAILED",
                f"{self.owner}: the database reports for {self.table}: {_reason(error)}.",
                fix="Correct the cause, then run again: the job continues from its checkpoint.",
            ) from None

    def password(self) -> str | None:
        if self.password_file:
            return Path(self.password_file).read_text(encoding="utf-8").strip()
        return os.environ.get(self.password_env) if self.password_env else None


@lru_cache(maxsize=16)
def _engine(target: Target) -> sa.Engine:
    """One engine per process has the pool of connections."""
    try:
        url = sa.make_url(target.url)
    except ArgumentError:
        raise RunError(
            "MS-RUN-DATABASE-FAILED",
            f"{target.owner}: its 'url' cannot be read.",
            fix="Write it as for SQLAlchemy: mysql+pymysql://host:3306/database.",
        ) from None
    if target.user:
        url = url.set(username=target.user)
    if (password := target.password()) is not None:
        url = url.set(password=password)
    return sa.create_engine(url, hide_parameters=True, pool_pre_ping=True)


def _reason(error: Exception) -> str:
    """Returns the driver's message in one line, without the statement."""
    if isinstance(error, NoSuchTableError):
        return f"there is no table {error}"
    found = error.orig if isinstance(error, DBAPIError) and error.orig else error
    text = " ".join(str(found).split()).rstrip(".")
    return text if len(text) <= _MOST else text[:_MOST] + "…"
