"""Declares the connectors; imports nothing of Spark."""

from __future__ import annotations

from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import COUNT, TEXT

COUNTER = ConnectorSpec(
    "counter",
    "Counts up: each file of a folder says how far.",
    (
        Property("path", PATH, "The folder.", (Role.SOURCE,), required="data/{name}"),
        Property("step", COUNT, "The difference of two numbers.", (Role.SOURCE,), default="1"),
        Property("pin", TEXT, "A secret.", (Role.SOURCE,), secret=True),
    ),
    source="millstream_counter.source:open_source",
    executor_reads=True,
)
TSV = ConnectorSpec(
    "tsv",
    "A file of tab-separated values for each micro-batch.",
    (Property("path", PATH, "The folder.", (Role.SINK,), required="out/{name}"),),
    sink="millstream_counter.sink:open_sink",
    delivery=Delivery.EXACTLY_ONCE,
)
