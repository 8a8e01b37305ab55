"""Partition columns of a file sink: their values are folders."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.errors import PlanError
from millstream.plan.nodes import SinkDef
from millstream.suggestions import nearest, same


def partition_columns(sink: SinkDef) -> tuple[str, ...]:
    """The columns whose values are the folders of a file sink."""
    return tuple(name.strip() for name in sink.option("partition.by").split(",") if name.strip())


def check_partitions(sink: SinkDef, columns: Sequence[str], operation: bool) -> None:
    """Rejects unknown partition columns, and files without a column. `operation`: files have a
    column `_OP`."""
    partitions = partition_columns(sink)
    for name in partitions:
        if not any(same(name, column) for column in columns):
            raise PlanError(
                "MS-PLAN-UNKNOWN-COLUMN",
                f"the sink {sink.name} is partitioned by {name}, which its query does not give.",
                fix=nearest(name, columns),
                place=sink.place,
            )
    if all(any(same(name, column) for name in partitions) for column in columns) and not operation:
        raise PlanError(
            "MS-PLAN-PARTITION",
            f"the sink {sink.name} is partitioned by all its columns, so its files have none.",
            fix="Leave a column out of 'partition.by', or select another one.",
            place=sink.place,
        )
