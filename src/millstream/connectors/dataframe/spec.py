"""Declares `dataframe`: streams, tables and results of the Python API."""

from __future__ import annotations

from millstream.plan.connectors import ConnectorSpec, Delivery
from millstream.temporal import OutputMode

SPEC = ConnectorSpec(
    "dataframe",
    "DataFrames of the Python API.",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.NONE,
    in_sql=False,
)
