"""Where a catalog is: a SQLite file or the URL of a PostgreSQL database."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from millstream.errors import CatalogError
from millstream.plan.secrets import mask_secret

DEFAULT = "millstream-catalog.db"
VARIABLE = "MILLSTREAM_CATALOG"


@dataclass(frozen=True, slots=True)
class CatalogUrl:
    """The parsed URL. `shown` is the URL without user and password, for people."""

    url: sa.URL
    shown: str

    @property
    def file(self) -> Path | None:
        """The file of a SQLite catalog."""
        return Path(str(self.url.database)) if self.is_sqlite else None

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"


def parse_catalog_url(given: str | os.PathLike[str] | CatalogUrl | None = None) -> CatalogUrl:
    """Returns the location that a URL or path names; without one, that of `MILLSTREAM_CATALOG`, or
    the file `millstream-catalog.db` of the working directory."""
    if isinstance(given, CatalogUrl):
        return given
    text = os.fspath(given) if given is not None else os.environ.get(VARIABLE) or DEFAULT
    text = text.removeprefix("jdbc:")
    if "://" not in text:
        return _sqlite(text.removeprefix("sqlite:"))
    scheme, _, rest = text.partition("://")
    if scheme == "sqlite":
        return _sqlite(rest.removeprefix("/"))
    if scheme not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise _wrong(text, f"it begins with {scheme}://")
    try:
        url = sa.make_url(f"postgresql+psycopg://{rest}")
    except (ArgumentError, ValueError):
        raise _wrong(text, "it cannot be read as a URL") from None
    if rest.count("@") > 1 or "@" in f"{url.host}{url.database}":
        # The driver would take a part of the password for the host, and show it in its errors.
        raise CatalogError(
            "MS-CATALOG-URL",
            "the URL of the catalog contains @ in a user, password or database.",
            fix="Write %40 for @ and %2F for /, or set the password as PGPASSWORD.",
        )
    return CatalogUrl(url, mask_secret("catalog", f"postgresql://{rest}"))


def _sqlite(path: str) -> CatalogUrl:
    if not path or path == ":memory:":
        raise _wrong(path or "sqlite://", "a catalog is stored in a file")
    return CatalogUrl(sa.URL.create("sqlite", database=str(Path(path).absolute())), path)


def _wrong(text: str, why: str) -> CatalogError:
    return CatalogError(
        "MS-CATALOG-URL",
        f"{mask_secret('catalog', text)} is not the location of a catalog: {why}.",
        fix="Write the path of a SQLite file, or postgresql://host:port/database.",
    )
