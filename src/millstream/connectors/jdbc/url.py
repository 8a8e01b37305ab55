"""Reads the URL of a database: which connector it belongs to, and that connector's options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from millstream.errors import PropertyError
from millstream.secret_names import contains_secret

CONNECTORS = {"postgresql://": "postgresql", "postgres://": "postgresql", "sqlite:": "sqlite"}
"""The connectors by how a URL begins, after `jdbc:`."""
PREFIXES = "jdbc:postgresql:// or jdbc:sqlite:"


def connector_of(url: str) -> tuple[str, dict[str, str]]:
    """Returns the connector of `jdbc:postgresql://…` or `jdbc:sqlite:…`, with its options.

    The prefix `jdbc:` is optional. A URL with a password is rejected, because URLs are stored and
    printed.
    """
    written = url.removeprefix("jdbc:")
    for prefix, connector in CONNECTORS.items():
        if written.startswith(prefix):
            return connector, _OPTIONS[connector](written)
    raise PropertyError(
        "MS-PROP-VALUE",
        "the URL is not the URL of a supported database.",
        fix=f"Use a URL that begins with {PREFIXES}.",
    )


def _file(url: str) -> dict[str, str]:
    # sqlite:///shop.db is relative and sqlite:////data/shop.db absolute, as in SQLAlchemy.
    return {"path": url.removeprefix("sqlite:").removeprefix("///")}


def _server(url: str) -> dict[str, str]:
    """Rejects a URL that cannot be read, or contains a password."""
    try:
        password = urlsplit(url).password
    except ValueError as error:
        raise PropertyError(
            "MS-PROP-VALUE",
            f"the URL of a database cannot be read: {error}.",
            fix="Write it as jdbc:postgresql://host:5432/database.",
        ) from None
    if password is not None or contains_secret(url):
        raise PropertyError(
            "MS-PROP-VALUE",
            "the URL of a database contains a password, which would be stored and printed.",
            fix="Remove it and set PGPASSWORD or PGPASSFILE in the environment.",
        )
    return {"url": url}


_OPTIONS: Mapping[str, Callable[[str], dict[str, str]]] = {"postgresql": _server, "sqlite": _file}
