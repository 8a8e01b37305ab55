"""Declares the connector `memory`, the default: tests and Python code provide and read rows."""

from __future__ import annotations

from millstream.plan.connectors import ConnectorSpec, Delivery
from millstream.temporal import OutputMode

SPEC = ConnectorSpec(
    "memory",
    "Rows in the process, provided and read by tests; `millstream run` rejects it.",
    source="millstream.connectors.memory.unconnected:open_source",
    table="millstream.connectors.memory.unconnected:open_table",
    sink="millstream.connectors.memory.unconnected:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.NONE,
    refreshable=False,
)
