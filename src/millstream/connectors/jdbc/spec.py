"""Declares `jdbc`, an alias for the connector that the URL selects."""

from __future__ import annotations

from millstream.connectors.jdbc.url import CONNECTORS, PREFIXES
from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorSpec, ConnectorStatement, Property
from millstream.sql.properties import TEXT


def _by_url(declared: ConnectorStatement) -> str:
    url = declared.properties["url"]
    written = url.value.lower().removeprefix("jdbc:")
    for prefix, connector in CONNECTORS.items():
        if written.startswith(prefix):
            return connector
    if "://" in written:
        return "database"
    raise PropertyError(
        "MS-PROP-VALUE",
        f"'url' of the {declared.noun} {declared.name} is not the URL of a supported database.",
        fix=f"Use a URL that begins with {PREFIXES}, or one of SQLAlchemy, such as "
        "mysql+pymysql://host/database.",
        place=url.value_place,
    )


SPEC = ConnectorSpec(
    "jdbc",
    "An alias for postgresql, sqlite or database, depending on 'url'; it also accepts their "
    "properties.",
    (
        Property(
            "url",
            TEXT,
            "The database, such as jdbc:postgresql://host:5432/database or jdbc:sqlite:shop.db.",
            required="jdbc:postgresql://host:5432/database",
        ),
    ),
    resolve=_by_url,
)
