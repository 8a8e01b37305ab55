"""Sends rows to the driver in the message of their task, for sinks that show or test rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.connectors.sink import Message, TaskId


@dataclass(frozen=True, slots=True)
class ArrowOpener:
    """`most` is how many rows of a task reach the driver; None: all."""

    most: int | None = None

    def open(self, task: TaskId) -> ArrowWriter:  # noqa: ARG002
        return ArrowWriter(self.most)


@dataclass(slots=True)
class ArrowWriter:
    most: int | None
    _rows: int = 0
    _sent: list[pa.RecordBatch] = field(default_factory=list)

    def write(self, rows: pa.RecordBatch) -> None:
        left = None if self.most is None else self.most - self._rows
        self._rows += rows.num_rows
        if left is None or left > 0:
            self._sent.append(rows if left is None else rows.slice(0, left))

    def close(self) -> Message:
        if not self._sent:
            return {"rows": self._rows}
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, self._sent[0].schema) as writer:
            for batch in self._sent:
                writer.write_batch(batch)
        return {"rows": self._rows, "data": stream.getvalue().to_pybytes()}

    def abort(self) -> None: ...


def rows_of(messages: Sequence[Message], empty: pa.Table) -> pa.Table:
    """The rows that tasks have sent; `empty` if none has."""
    tables = [
        pa.ipc.open_stream(pa.py_buffer(message["data"])).read_all()
        for message in messages
        if "data" in message
    ]
    return pa.concat_tables(tables) if tables else empty
