"""Declares the connector `console`."""

from __future__ import annotations

from millstream.plan.connectors import ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import COUNT
from millstream.temporal import OutputMode

SPEC = ConnectorSpec(
    "console",
    "Prints the rows of each micro-batch as a table.",
    (
        Property(
            "rows",
            COUNT,
            "The maximum number of rows to print per micro-batch.",
            (Role.SINK,),
            default="20",
        ),
    ),
    aliases=("print",),  # Flink's name
    sink="millstream.connectors.console.sink:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.AT_LEAST_ONCE,
)
