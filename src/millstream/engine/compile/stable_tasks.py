"""Distributes the rows of a batch over tasks by their values only.

A sink that identifies its output by task needs the same rows in the same task when a batch is
retried, even if the machine, the number of cores or the file splits differ.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

_TASK = "_ms_task"


def in_stable_tasks(rows: DataFrame, tasks: int) -> DataFrame:
    """The same rows in `tasks` partitions; equal rows are in one."""
    hashed = F.xxhash64(*(_hashable(each.name, each.dataType) for each in rows.schema))
    task = F.pmod(hashed, F.lit(tasks)).cast("int").alias(_TASK)
    return rows.select("*", task).repartitionById(tasks, _TASK).drop(_TASK)


def _hashable(name: str, kind: DataType) -> Column:
    column = F.col(quoted(name))
    return F.to_json(F.struct(column)) if _has_map(kind) else column


def _has_map(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_map(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_map(each.dataType) for each in kind)
    return isinstance(kind, MapType)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
