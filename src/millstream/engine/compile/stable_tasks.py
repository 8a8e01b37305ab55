"""Distributes the rows of a batch over tasks by their values only.

A sink that identifies its output by task needs the same rows in the same task when a batch is
retried, even if the machine, the number of cores or the file splits differ. Rows with the same
ORDER_KEY stay together and in order, so that the changes of a key are written one after the other.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from millstream.connectors.sink import ORDER_KEY

_TASK = "_ms_task"


def in_stable_tasks(rows: DataFrame, tasks: int) -> DataFrame:
    """The same rows in `tasks` partitions; equal rows are in one."""
    hashed = F.xxhash64(*(_hashable(each.name, each.dataType) for each in rows.schema))
    keys = [F.when(key.isNotNull(), F.xxhash64(key)) for key in _order_keys(rows.schema)]
    hashed = F.coalesce(*keys, hashed)
    task = F.pmod(hashed, F.lit(tasks)).cast("int").alias(_TASK)
    return rows.select("*", task).repartitionById(tasks, _TASK).drop(_TASK)


def _order_keys(schema: StructType) -> list[Column]:
    """The keys of rows; of a query with several outputs, those of each output's column."""
    found = [F.col(ORDER_KEY)] if ORDER_KEY in schema.names else []
    for each in schema:
        if isinstance(each.dataType, StructType) and ORDER_KEY in each.dataType.names:
            found.append(F.col(f"{quoted(each.name)}.{ORDER_KEY}"))
    return found


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
