"""Sends rows to the driver in the message of their task, for the console and memory sinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.connectors.sink import Message, TaskId


@dataclass(frozen=True, slots=True)
class ArrowOpener:
    """Opens writers that send at most `limit` rows of a task to the driver; None: all."""

    limit: int | None = None

    def open(self, task: TaskId) -> ArrowWriter:  # noqa: ARG002
        return ArrowWriter(self.limit)


@dataclass(slots=True)
class ArrowWriter:
    """Collects the rows of a task and counts them."""

    limit: int | None
    _rows: int = 0
    _batches: list[pa.RecordBatch] = field(default_factory=list)

    def write(self, rows: pa.RecordBatch) -> None:
        remaining = None if self.limit is None else self.limit - self._rows
        self._rows += rows.num_rows
        if remaining is None or remaining > 0:
            self._batches.append(rows if remaining is None else rows.slice(0, remaining))

    def close(self) -> Message:
        if not self._batches:
            return {"rows": self._rows}
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, self._batches[0].schema) as writer:
            for batch in self._batches:
                writer.write_batch(batch)
        return {"rows": self._rows, "data": stream.getvalue().to_pybytes()}

    def abort(self) -> None: ...


def collect_rows(messages: Sequence[Message], empty: pa.Table) -> pa.Table:
    """Returns the rows in the messages of all tasks; `empty` if there are none."""
    tables = [
        pa.ipc.open_stream(pa.py_buffer(message["data"])).read_all()
        for message in messages
        if "data" in message
    ]
    return pa.concat_tables(tables) if tables else empty
