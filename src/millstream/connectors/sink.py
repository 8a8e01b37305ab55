"""The protocol of sinks: the driver begins a batch, executors write it, the driver commits it.

    driver      opener = sink.begin(batch)
    executors   writer = opener.open(task); writer.write(rows) …; message = writer.close()
    driver      sink.commit(batch, messages)        or sink.abort(batch, messages)

Rows become visible at `commit`, or before it in a transaction that records the task
(`stable_tasks`). A batch that Spark did not commit is retried under the same `BatchId`: `commit`
then replaces the output of the first attempt, or the sink finds its record of the batch and writes
nothing. Messages are small, such as file names and counts. A task without rows for an output opens
no writer and sends no message.

The sink object lives on the driver. Its opener is sent to executors, so it is a small picklable
value. A sink may also implement the protocols `Supports…` and `SparkSink` below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

Message = dict[str, Any]  # the output of one task; JSON types and bytes
# A column of a projection: one task writes all rows of a value, in their order.
ORDER_KEY = "_ms_key"


@dataclass(frozen=True, slots=True)
class BatchId:
    """Identifies a micro-batch of one output across restarts.

    `checkpoint` is the UUID of the checkpoint: a transactional sink distinguishes batch 0 of a new
    checkpoint from that of an earlier one. The file sink does not: it names files by `batch` only.
    Files of another run are therefore rejected before a new checkpoint starts (MS-STATE-SINK).
    """

    checkpoint: str
    query: str
    output: str
    batch: int

    @property
    def writer(self) -> str:
        """The output as a string, for the markers of transactional sinks."""
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
        """Finishes writing. The rows are not visible yet unless the sink is transactional."""
        ...

    def abort(self) -> None:
        """Removes what the task has written so far; another attempt may follow."""
        ...


class WriterOpener(Protocol):
    """Opens the writers of a batch, on executors."""

    def open(self, task: TaskId) -> OutputWriter: ...


@runtime_checkable
class Sink(Protocol):
    """A sink on the driver.

    `stable_tasks`: the sink identifies its output by task, so that each task of a retried batch
    must have the same rows as before.
    """

    stable_tasks: ClassVar[bool]

    def begin(self, batch: BatchId) -> WriterOpener:
        """Prepares a batch and removes the remains of an earlier attempt."""
        ...

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        """Makes the batch visible; replaces the output of an earlier attempt."""
        ...

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:
        """Removes the output of the tasks. `messages` are those that reached the driver."""
        ...


@runtime_checkable
class SupportsProjection(Protocol):
    """A sink that writes other columns than those of the query, such as lines of text."""

    def projection(self, schema: StructType, *, ansi: bool) -> dict[str, Column]:
        """Returns the columns that Spark computes for the sink's writers. `ansi`: whether Spark's
        ANSI mode is enabled."""
        ...


@runtime_checkable
class SupportsColumnCheck(Sink, Protocol):
    """A sink that rejects columns of some types before the job starts."""

    def check(self, rows: Callable[[], DataFrame]) -> None: ...


@runtime_checkable
class SupportsSideOutputCheck(Sink, Protocol):
    """A sink that rejects columns of late rows or dead letters before the job starts."""

    def check_side_output(self, schema: pa.Schema) -> None: ...


@runtime_checkable
class SupportsSharing(Sink, Protocol):
    """A sink whose output names only the batch, so that several queries need a label each. Other
    sinks identify their output by `BatchId`, which has the query."""

    def with_label(self, query: str) -> Sink:
        """Returns the sink for one of the queries that may write to it."""
        ...


@runtime_checkable
class SparkSink(Sink, Protocol):
    """A sink that Spark writes to directly, without a batch function: it discards rows."""

    spark_format: str
