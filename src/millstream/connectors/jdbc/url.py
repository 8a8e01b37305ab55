"""Reads the URL of a database: which connector it belongs to, and that connector's options."""

from __future__ import annotations

from urllib.parse import urlsplit

from millstream.errors import PropertyError


def connector_of(url: str) -> tuple[str, dict[str, str]]:
    """Returns the connector of `jdbc:postgresql://…` or `jdbc:sqlite:…`, with its options.

    `jdbc:` may be left out. A URL with a password is rejected: it would be stored and shown.
    """
    written = url.removeprefix("jdbc:")
    if written.startswith(("postgresql://", "postgres://")):
        if _has_password(written):
            raise PropertyError(
                "MS-PROP-VALUE",
                "the URL of a database contains a password.",
                fix="Remove it and set PGPASSWORD or PGPASSFILE in the environment.",
            )
        return "postgresql", {"url": written}
    if written.startswith("sqlite:"):
        path = written.removeprefix("sqlite:")
        # sqlite:///shop.db is relative and sqlite:////data/shop.db absolute, as in SQLAlchemy.
        return "sqlite", {"path": path.removeprefix("///")}
    raise PropertyError(
        "MS-PROP-VALUE",
        "a table is in a database that cannot be read.",
        fix="Its URL begins with jdbc:postgresql:// or jdbc:sqlite:.",
    )


def _has_password(url: str) -> bool:
    parts = urlsplit(url)
    return parts.password is not None or "password=" in parts.query
