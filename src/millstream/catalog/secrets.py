"""Rejects passwords in what is stored in a catalog."""

from __future__ import annotations

from millstream.errors import CatalogError, Place
from millstream.secret_names import contains_secret


def reject_secret(what: str, text: str, place: Place | None = None) -> None:
    """Raises MS-CATALOG-SECRET if a text that would be stored contains a password."""
    if contains_secret(text):
        raise CatalogError(
            "MS-CATALOG-SECRET",
            f"{what} contains a password, and a catalog stores no secrets.",
            fix="Remove it, and set it in the environment, such as PGPASSWORD for PostgreSQL.",
            place=place,
        )
