"""Writes batches to a sink without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from millstream.connectors.sink import BatchId, Message, Sink, TaskId


def batch_id(batch: int, checkpoint: str = "checkpoint") -> BatchId:
    return BatchId(checkpoint, "query", "main", batch)


def write(
    sink: Sink,
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
