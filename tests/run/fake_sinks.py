"""A process that is killed at a chosen call, and sinks on a store that survives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from millstream.connectors.sink import BatchId, Message, OutputWriter, Sink, TaskId, WriterOpener

Row = tuple[Any, ...]


class KilledError(BaseException):
    """The process has ended; nothing runs any more, not even what cleans up."""


@dataclass
class Process:
    """Counts calls, and ends before the call of number `dies_at`."""

    dies_at: int | None = None
    calls: int = 0

    def step(self) -> None:
        if self.dies_at is not None and self.calls >= self.dies_at:
            raise KilledError
        self.calls += 1


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    return [tuple(row.values()) for row in batch.to_pylist()]


@dataclass
class Store:
    """What is outside of the process: rows of batches, and rows with markers of tasks."""

    staged: dict[str, list[Row]] = field(default_factory=dict)
    batches: dict[int, list[Row]] = field(default_factory=dict)
    appended: list[Row] = field(default_factory=list)
    markers: dict[tuple[str, int], int] = field(default_factory=dict)

    def rows(self) -> Counter[Row]:
        return Counter([row for rows in self.batches.values() for row in rows] + self.appended)


@dataclass
class ReplacingSink:
    """Visible at the commit, which replaces the batch."""

    store: Store
    stable_tasks: ClassVar[bool] = False

    def begin(self, batch: BatchId) -> WriterOpener:  # noqa: ARG002
        self.store.staged.clear()
        return _Staging(self.store)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        rows = [row for message in messages for row in self.store.staged[message["staged"]]]
        self.store.batches[batch.batch] = rows

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:  # noqa: ARG002
        self.store.staged.clear()


@dataclass
class _Staging:
    store: Store

    def open(self, task: TaskId) -> OutputWriter:
        return _StagedBatch(self.store, f"{task.task}-{task.attempt}")


@dataclass
class _StagedBatch:
    store: Store
    name: str
    rows: list[Row] = field(default_factory=list)

    def write(self, rows: pa.RecordBatch) -> None:
        self.rows += rows_of(rows)

    def close(self) -> Message:
        self.store.staged[self.name] = self.rows
        return {"staged": self.name}

    def abort(self) -> None: ...


@dataclass
class TransactionalSink:
    """Each task commits a transaction with its rows and a marker, as sinks of databases do."""

    store: Store
    stable_tasks: ClassVar[bool] = True

    def begin(self, batch: BatchId) -> WriterOpener:  # noqa: ARG002
        return _Transactions(self.store)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None: ...

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...


@dataclass
class _Transactions:
    store: Store

    def open(self, task: TaskId) -> OutputWriter:
        return _Transaction(self.store, task)


@dataclass
class _Transaction:
    store: Store
    task: TaskId
    rows: list[Row] = field(default_factory=list)

    def write(self, rows: pa.RecordBatch) -> None:
        self.rows += rows_of(rows)

    def close(self) -> Message:
        key = self.task.batch.writer, self.task.task
        if self.store.markers.get(key, -1) < self.task.batch.batch:
            self.store.markers[key] = self.task.batch.batch
            self.store.appended += self.rows
        return {}

    def abort(self) -> None: ...


@dataclass
class Mortal:
    """A sink whose process may end before and after each call, on the driver and on executors."""

    sink: Sink
    process: Process
    stable_tasks: ClassVar[bool] = False

    def begin(self, batch: BatchId) -> WriterOpener:
        self.process.step()
        opener = self.sink.begin(batch)
        self.process.step()
        return _MortalOpener(opener, self.process)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        self.process.step()
        self.sink.commit(batch, messages)
        self.process.step()

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:
        self.process.step()
        self.sink.abort(batch, messages)


@dataclass
class _MortalOpener:
    opener: WriterOpener
    process: Process

    def open(self, task: TaskId) -> OutputWriter:
        self.process.step()
        return _MortalWriter(self.opener.open(task), self.process)


@dataclass
class _MortalWriter:
    writer: OutputWriter
    process: Process

    def write(self, rows: pa.RecordBatch) -> None:
        self.process.step()
        self.writer.write(rows)

    def close(self) -> Message:
        self.process.step()
        message = self.writer.close()
        self.process.step()
        return message

    def abort(self) -> None:
        self.process.step()
        self.writer.abort()
