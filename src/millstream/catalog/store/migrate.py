"""Creates and upgrades the tables of a catalog with alembic."""

from __future__ import annotations

import os
from importlib.resources import as_file, files

import sqlalchemy as sa

from millstream.catalog.store.catalog_url import CatalogUrl, parse_catalog_url
from millstream.catalog.store.database import Database, connect, stored_revision
from millstream.catalog.store.tables import REVISION
from millstream.errors import CatalogError

_LOCK = 0x6D696C6C  # one migration at a time in a PostgreSQL database


def migrate(database: Database) -> tuple[str | None, str]:
    """Upgrades to the tables of this version of Millstream, in one transaction.

    Returns the versions before and after.
    """
    file = database.location.file
    if file is not None and not file.parent.is_dir():
        raise CatalogError(
            "MS-CATALOG-CONNECT",
            f"the folder {file.parent} of the catalog does not exist.",
            fix="Create it, or name another catalog with --catalog.",
        )
    with database.write_transaction() as connection:
        if not database.location.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        before = stored_revision(connection)
        if before != REVISION:
            _upgrade(connection)
    return before, REVISION


def migrate_at(url: str | os.PathLike[str] | CatalogUrl | None) -> tuple[str | None, str]:
    """Upgrades the tables at a URL or path, or of the default catalog (see `parse_catalog_url`).

    Returns the versions before and after.
    """
    database = connect(parse_catalog_url(url))
    try:
        return migrate(database)
    finally:
        database.close()


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    with as_file(files("millstream.catalog.store") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
