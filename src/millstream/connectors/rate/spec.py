"""Declares the connector `rate`."""

from __future__ import annotations

from millstream.plan.connectors import ConnectorSpec, Property, Role
from millstream.sql.properties import COUNT

SPEC = ConnectorSpec(
    "rate",
    "Generated rows: the current time in timestamp columns, a sequence number in others.",
    (Property("rows.per.second", COUNT, "Rows per second.", (Role.SOURCE,), default="10"),),
    source="millstream.connectors.rate.source:open_source",
)
