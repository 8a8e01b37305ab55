"""Opens the database of a catalog, and its transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from millstream.catalog.store.catalog_url import CatalogUrl
from millstream.catalog.store.failures import catalog_errors
from millstream.catalog.store.tables import REVISION, VERSION_TABLE
from millstream.errors import CatalogError

LOCK_SECONDS = 30
CONNECT_SECONDS = 10
_WRITE = "millstream_write"


@dataclass(frozen=True, slots=True)
class Database:
    """A database with the tables of a catalog."""

    engine: sa.Engine
    location: CatalogUrl

    @contextmanager
    def read_transaction(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the catalog and changes nothing."""
        with catalog_errors(self.location.shown), self.engine.connect() as connection:
            if not self.location.is_sqlite:
                connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            yield connection

    @contextmanager
    def write_transaction(self) -> Iterator[sa.Connection]:
        """A transaction that is committed at the end, or rolled back if an error is raised.

        Only one at a time writes to a SQLite file; others wait.
        """
        with catalog_errors(self.location.shown), self.engine.connect() as connection:
            connection.execution_options(**{_WRITE: True})
            with connection.begin():
                yield connection

    def close(self) -> None:
        self.engine.dispose()


def connect(location: CatalogUrl) -> Database:
    """Returns the database at a location, whether or not it has the tables of a catalog."""
    try:
        if location.is_sqlite:
            return Database(_sqlite(location), location)
        settings = {"connect_timeout": CONNECT_SECONDS, "application_name": "millstream"}
        engine = sa.create_engine(
            location.url,
            connect_args=settings | dict(location.url.query),
            hide_parameters=True,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError as error:
        raise CatalogError(
            "MS-CATALOG-DRIVER",
            f"the catalog is in PostgreSQL, and the package {error.name} is not installed.",
            fix="Run pip install 'millstream[catalog,postgresql]'.",
        ) from None
    event.listen(engine, "begin", _begin_postgresql)
    return Database(engine, location)


def _sqlite(location: CatalogUrl) -> sa.Engine:
    engine = sa.create_engine(
        location.url,
        connect_args={"timeout": LOCK_SECONDS, "isolation_level": None},
        hide_parameters=True,
    )
    event.listen(engine, "connect", _enforce_foreign_keys)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _enforce_foreign_keys(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: sa.Connection) -> None:
    """Takes the write lock at the beginning: a transaction that reads first and writes later would
    fail if another one wrote in between."""
    writes = connection.get_execution_options().get(_WRITE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_postgresql(connection: sa.Connection) -> None:
    if connection.get_execution_options().get(_WRITE):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")


def stored_revision(connection: sa.Connection) -> str | None:
    """Returns the migration that the database is at; None if it has no catalog."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    version = sa.table(VERSION_TABLE, sa.column("version_num", sa.Text))
    return connection.execute(sa.select(version.c.version_num)).scalar()


def is_new_file(database: Database) -> bool:
    """Whether the catalog is a SQLite file that does not exist, or has no tables."""
    file = database.location.file
    if file is None or not file.exists():
        return file is not None
    with database.read_transaction() as connection:
        return not sa.inspect(connection).get_table_names()


def require_current(database: Database) -> None:
    """Raises an error if the database has no catalog, or one of another version of Millstream."""
    file = database.location.file
    if file is not None and not file.exists():
        raise no_catalog(database.location)
    with database.read_transaction() as connection:
        found = stored_revision(connection)
    if found is None:
        raise no_catalog(database.location)
    if found != REVISION:
        newer = found > REVISION
        raise CatalogError(
            "MS-CATALOG-MIGRATION",
            f"the tables of the catalog {database.location.shown} are at version {found}; this "
            f"version of Millstream uses {REVISION}.",
            fix="Install a newer Millstream." if newer else "Run millstream catalog migrate.",
        )


def no_catalog(location: CatalogUrl) -> CatalogError:
    fix = "Run millstream catalog migrate once."
    if location.is_sqlite:
        fix = "Run millstream catalog apply DIR, or name another catalog with --catalog."
    return CatalogError("MS-CATALOG-NONE", f"there is no catalog at {location.shown}.", fix=fix)
