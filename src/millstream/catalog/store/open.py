"""Opens a catalog for reading and writing."""

from __future__ import annotations

import os
from dataclasses import dataclass

from millstream.catalog.store.catalog_url import CatalogUrl, parse_catalog_url
from millstream.catalog.store.clock import Clock, catalog_time
from millstream.catalog.store.database import Database, connect, is_new_file, require_current
from millstream.catalog.store.migrate import migrate
from millstream.catalog.store.reader import DatabaseReader
from millstream.catalog.store.writer import DatabaseWriter


@dataclass(frozen=True, slots=True)
class OpenCatalog:
    """A reader and a writer of one catalog."""

    database: Database
    reader: DatabaseReader
    writer: DatabaseWriter

    @property
    def shown(self) -> str:
        """The location without user and password."""
        return self.database.location.shown

    def close(self) -> None:
        self.database.close()


def open_catalog(
    url: str | os.PathLike[str] | CatalogUrl | None = None,
    *,
    create: bool = False,
    clock: Clock = catalog_time,
) -> OpenCatalog:
    """Opens the catalog at a URL or path, or the default one (see `parse_catalog_url`).

    With `create`, a SQLite file that does not exist or is empty gets its tables. The tables of a
    PostgreSQL database are created by `migrate`.
    """
    database = connect(parse_catalog_url(url))
    if create and is_new_file(database):
        migrate(database)
    require_current(database)
    return OpenCatalog(database, DatabaseReader(database), DatabaseWriter(database, clock))
