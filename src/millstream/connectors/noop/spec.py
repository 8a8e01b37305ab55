"""Declares the connector `noop`."""

from __future__ import annotations

from millstream.plan.connectors import ConnectorSpec, Delivery
from millstream.temporal import OutputMode

SPEC = ConnectorSpec(
    "noop",
    "Discards rows; for measurements.",
    aliases=("blackhole",),  # Flink's name
    sink="millstream.connectors.noop.sink:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.NONE,
    keeps_rows=False,
)
