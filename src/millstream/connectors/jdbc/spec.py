"""Declares `jdbc`, another name for the connector of a database, which its URL says."""

from __future__ import annotations

from millstream.connectors.jdbc.url import CONNECTORS, PREFIXES
from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorSpec, Declaration, Property, Role
from millstream.sql.properties import TEXT


def _by_url(declared: Declaration) -> str:
    url = declared.properties["url"]
    written = url.value.lower().removeprefix("jdbc:")
    for prefix, connector in CONNECTORS.items():
        if written.startswith(prefix):
            return connector
    raise PropertyError(
        "MS-PROP-VALUE",
        f"the table {declared.name} has a 'url' of a database that is not supported.",
        fix=f"It begins with {PREFIXES}.",
        place=url.value_place,
    )


SPEC = ConnectorSpec(
    "jdbc",
    "Another name for postgresql or sqlite, depending on 'url'; it has their properties, too.",
    (
        Property(
            "url",
            TEXT,
            "The database, such as jdbc:postgresql://host:5432/database or jdbc:sqlite:shop.db.",
            (Role.TABLE,),
            required="jdbc:postgresql://host:5432/database",
        ),
    ),
    resolve=_by_url,
)
