"""Reads the properties of a Delta sink, and rejects those that contradict its query."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.connectors.file.sink_options import check_partitions
from millstream.errors import PlanError
from millstream.plan.nodes import SinkDef
from millstream.suggestions import nearest, same


def key_columns(sink: SinkDef) -> tuple[str, ...]:
    """Returns the columns that identify the row that a change replaces; none: rows are appended."""
    return tuple(name.strip() for name in sink.option("key.columns").split(",") if name.strip())


def merge_limit(sink: SinkDef) -> str:
    """Returns the limit of a sink that merges, for `explain`; empty if it appends."""
    if not key_columns(sink):
        return ""
    return (
        "rows are merged by key in the driver's process, whose memory has the rows of a batch and "
        "the files of their keys"
    )


def check_key(sink: SinkDef, columns: Sequence[str], operation: bool) -> None:
    """Rejects key and partition columns that the query does not select."""
    check_partitions(sink, columns, operation)
    for name in key_columns(sink):
        if not any(same(name, column) for column in columns):
            raise PlanError(
                "MS-PLAN-UNKNOWN-COLUMN",
                f"{name} is a key column of the sink {sink.name}, and its query does not select "
                "it.",
                fix=nearest(name, columns),
                place=sink.place,
            )
