"""Prepares what is published: reads files, or checks a table of a database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from millstream.catalog.model import DataFormat, Dataset, VersionContent, VersionFile
from millstream.catalog.publishing.database_table import check_table
from millstream.catalog.publishing.files import content_hash, describe_files
from millstream.catalog.publishing.formats import complete_options, format_of
from millstream.catalog.publishing.inspect import inspect
from millstream.catalog.secrets import reject_secret
from millstream.connectors.jdbc.url import connector_of
from millstream.connectors.paths import resolve
from millstream.errors import CatalogError, PropertyError


def prepare(
    dataset: Dataset,
    location: str,
    *,
    form: DataFormat | None = None,
    options: Mapping[str, str] | None = None,
    note: str = "",
    base: Path | None = None,
) -> tuple[VersionContent, tuple[VersionFile, ...]]:
    """Returns the content of a new version, and its files.

    Relative paths begin at `base`, or at the working directory. A table of a database has no
    content hash: its rows may change, so its versions are not reproducible.
    """
    reject_secret("the location", location)
    if form is DataFormat.JDBC or location.startswith("jdbc:"):
        return _table(dataset, location, options or {}, note, base or Path.cwd()), ()
    place = resolve(location, base or Path.cwd())
    files = describe_files(place)
    found = form or format_of(place, files)
    complete = complete_options(found, options or {})
    inspected = inspect(dataset, found, place, complete, files)
    content = VersionContent(
        format=found,
        location=place,
        schema=inspected.schema,
        content_hash=content_hash(found, complete, inspected.schema, files),
        options=complete,
        row_count=inspected.row_count,
        note=note,
        key=dataset.table.key,
    )
    return content, files


def _table(
    dataset: Dataset, location: str, options: Mapping[str, str], note: str, base: Path
) -> VersionContent:
    complete = complete_options(DataFormat.JDBC, options)
    if not complete["table"]:
        raise CatalogError(
            "MS-CATALOG-FORMAT",
            "the location is a database, and no table is named.",
            fix="Add --option table=NAME.",
        )
    url = _database(location, base)
    columns = check_table(dataset, url, complete["table"])
    return VersionContent(
        format=DataFormat.JDBC,
        location=url,
        schema=dataset.table.all_columns,
        options=complete,
        note=note,
        key=dataset.table.key,
        database_columns=columns,
    )


def _database(location: str, base: Path) -> str:
    """Returns the URL of a database that can be read; the path of a SQLite file is absolute."""
    try:
        _, options = connector_of(location)
    except PropertyError as error:
        raise CatalogError("MS-CATALOG-LOCATION", error.cause, fix=error.fix) from None
    if "path" not in options:
        return location
    path = (base / options["path"]).resolve()
    if not path.is_file():
        raise CatalogError(
            "MS-CATALOG-LOCATION",
            f"{path} cannot be read: it is not a file.",
            fix="Check the path.",
        )
    return f"jdbc:sqlite:{path}"
