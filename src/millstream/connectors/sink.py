"""The protocol of sinks: the driver begins a batch, executors write it, the driver commits it.

    driver      opener = sink.begin(batch)
    executors   writer = opener.open(task); writer.write(rows) …; message = writer.close()
    driver      sink.commit(batch, messages)        or sink.abort(batch, messages)

Rows become visible at `commit`, or before it in a transaction that records the task
(`stable_tasks`). A batch that was not committed by Spark is retried under the same `BatchId`:
`commit` then replaces what the first try wrote, or the sink finds its own record of the batch and
writes nothing. Messages are small: names of files, counts. A task without rows for an output opens
no writer and sends no message.

A sink is on the driver. Its opener is sent to executors, so that it is a small picklable value, and
its module imports neither `plan` nor Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import pyarrow as pa

Message = dict[str, Any]  # what one task wrote; can be written as JSON, but for bytes
DRIVER = -1  # the task of rows that the driver itself adds, such as files that are missing


@dataclass(frozen=True, slots=True)
class BatchId:
    """Identifies a micro-batch of one output across restarts.

    `checkpoint` is the UUID of the checkpoint: a new checkpoint begins with batch 0 again, and must
    not be confused with what an earlier one has written.
    """

    checkpoint: str
    query: str
    output: str
    batch: int

    @property
    def writer(self) -> str:
        """Identifies the output that writes, for the markers of transactional sinks."""
        return f"{self.checkpoint}/{self.query}/{self.output}"


@dataclass(frozen=True, slots=True)
class TaskId:
    """Identifies a task of a batch. Attempts of one task differ in `attempt` only."""

    batch: BatchId
    task: int
    attempt: int = 0


class OutputWriter(Protocol):
    """Writes the rows of one output and task, on an executor."""

    def write(self, rows: pa.RecordBatch) -> None: ...

    def close(self) -> Message:
        """Ends the task: everything is written, and nothing visible unless the sink is
        transactional."""
        ...

    def abort(self) -> None:
        """Removes what the task has written so far; another attempt may follow."""
        ...


class WriterOpener(Protocol):
    def open(self, task: TaskId) -> OutputWriter: ...


@runtime_checkable
class Sink(Protocol):
    """`stable_tasks`: the sink identifies what it wrote by task, so that tasks of a retried batch
    must have the same rows."""

    stable_tasks: ClassVar[bool]

    def begin(self, batch: BatchId) -> WriterOpener:
        """Prepares a batch; what an earlier try of it left behind is removed."""
        ...

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        """Makes the batch visible; that of an earlier try is replaced."""
        ...

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:
        """Removes what the tasks wrote. `messages` are those that reached the driver."""
        ...
