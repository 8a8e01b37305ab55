"""Rejects passwords in what is stored in a catalog."""

from __future__ import annotations

import re

from millstream.errors import CatalogError, Place

_PASSWORD = re.compile(
    r"://[^/@\s]*:[^\s]*@|(?:^|[?&;\s])\w*(?:passw|secret|token)\w*\s*=", re.IGNORECASE
)
_SECRET_NAME = re.compile(r"passw|secret|token|credential", re.IGNORECASE)


def has_secret(text: str, name: str = "") -> bool:
    """Whether a URL contains a password, or a setting has the name of a secret."""
    return bool(_PASSWORD.search(text) or _SECRET_NAME.search(name))


def reject_secret(what: str, text: str, place: Place | None = None) -> None:
    """Raises MS-CATALOG-SECRET if a text that would be stored contains a password."""
    if has_secret(text):
        raise CatalogError(
            "MS-CATALOG-SECRET",
            f"{what} contains a password, and a catalog stores no secrets.",
            fix="Remove it, and set it in the environment, such as PGPASSWORD for PostgreSQL.",
            place=place,
        )
