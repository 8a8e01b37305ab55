"""Rejected records and files as rows of a reader's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.connectors.dead_letters import (
    BAD,
    DELETED,
    MALFORMED,
    UNREADABLE_FILE,
    Rejection,
)
from millstream.connectors.file.values import Column
from millstream.connectors.paths import to_local_path


@dataclass(slots=True)
class Flaw:
    """Why a record is malformed: a message, and the column and value that caused it, if known."""

    message: str
    column: str | None = None
    value: str | None = None

    @classmethod
    def of(cls, column: Column, value: str) -> Flaw:
        return cls(
            f"column {column.name}: {value!r} is not {column.type_name}.", column.name, value
        )


@dataclass(slots=True)
class Rejections:
    """Builds the column BAD for the rows of one file. `line` returns the line of an offset."""

    file: str
    line: Callable[[int], int] | None = None
    _texts: dict[int, str] = field(default_factory=dict)  # by row

    def add(self, row: int, raw: str, flaw: Flaw, offset: int | None = None) -> None:
        line = self.line(offset) if self.line is not None and offset is not None else None
        rejection = Rejection(
            MALFORMED, flaw.message, raw, flaw.column, flaw.value, shown_path(self.file), line
        )
        self._texts[row] = rejection.encode()

    def column(self, rows: int) -> pa.Array:
        """Returns BAD for a batch of rows, and starts the next batch."""
        texts, self._texts = self._texts, {}
        if not texts:
            return pa.nulls(rows, pa.string())
        return pa.array([texts.get(row) for row in range(rows)], pa.string())


def shown_path(path: str) -> str:
    shown = to_local_path(path) if path.startswith("file:") else path
    return shown.encode("utf-8", "backslashreplace").decode()  # a name that is not UTF-8


def unreadable(file: str, why: str, wanted: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """Returns the single row that represents a rejected file."""
    message = why if why == DELETED else f"the file cannot be read: {why}"
    rejection = Rejection(UNREADABLE_FILE, message, file=shown_path(file))
    columns = [pa.nulls(1, kind) for kind in wanted.values()]
    return pa.RecordBatch.from_arrays([*columns, pa.array([rejection.encode()])], [*wanted, BAD])
