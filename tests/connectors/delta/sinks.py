"""Opens Delta sinks and writes batches to them without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.connectors.delta.sink import DeltaSink
from millstream.connectors.sink import BatchId, Message, TaskId
from millstream.plan.nodes import SinkDef


def sink_on(path: Path, schema: pa.Schema, **options: str) -> DeltaSink:
    """Returns a sink that is ready to write rows of a schema."""
    given = {"path": str(path)} | {name.replace("_", "."): v for name, v in options.items()}
    sink = DeltaSink.opened(SinkDef("out", "delta", tuple(given.items())), Path())
    sink._prepare(from_arrow_schema(schema))
    return sink


def batch_id(batch: int, checkpoint: str = "checkpoint") -> BatchId:
    return BatchId(checkpoint, "query", "main", batch)


def write(
    sink: DeltaSink,
    batch: BatchId,
    tasks: Sequence[Iterable[pa.RecordBatch]],
    *,
    before_commit: Callable[[], None] = lambda: None,
) -> None:
    opener = sink.begin(batch)
    messages: list[Message] = []
    for number, rows in enumerate(tasks):
        writer = opener.open(TaskId(batch, number))
        for each in rows:
            writer.write(each)
        messages.append(writer.close())
    before_commit()
    sink.commit(batch, messages)


def rows_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def table_rows(path: Path) -> list[tuple[Any, ...]]:
    """The rows of a table, as deltalake reads them."""
    table = DeltaTable(str(path))
    names = [field.name for field in table.schema().fields]
    found = pa.table(table.scan().read_all()).to_pylist()
    return [tuple(row[name] for name in names) for row in found]


def data_files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*.parquet"))
