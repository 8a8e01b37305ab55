"""Reads the properties of a Delta sink, and rejects those that contradict its query."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.connectors.file.sink_options import check_partitions
from millstream.connectors.key_columns import check_key, key_columns
from millstream.plan.nodes import SinkDef


def merge_limit(sink: SinkDef) -> str:
    """Returns the limit of a sink that merges, for `explain`; empty if it appends."""
    if not key_columns(sink):
        return ""
    return (
        "rows are merged in the driver: the rows of a batch and the data files that contain their "
        "keys must fit into its memory"
    )


def check_columns(sink: SinkDef, columns: Sequence[str], operation: bool) -> None:
    """Rejects key and partition columns that the query does not select."""
    check_partitions(sink, columns, operation)
    check_key(sink, columns, operation)
