"""Writes tab-separated lines: one file per task, visible when its batch is committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from millstream.connectors.sink import BatchId, Message, TaskId
from millstream.plan.nodes import SinkDef


@dataclass(frozen=True, slots=True)
class TsvOpener:
    """Sent to executors, which open a writer per task."""

    folder: str

    def open(self, task: TaskId) -> TsvWriter:
        name = f".{task.batch.batch:06d}-{task.task}-{task.attempt}.tsv"
        return TsvWriter(str(Path(self.folder) / name))


@dataclass(slots=True)
class TsvWriter:
    path: str
    _lines: list[str] = field(default_factory=list)

    def write(self, rows: pa.RecordBatch) -> None:
        columns = [column.to_pylist() for column in rows.columns]
        self._lines += ["\t".join(map(str, values)) for values in zip(*columns, strict=True)]

    def close(self) -> Message:
        Path(self.path).write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")
        return {"path": self.path}

    def abort(self) -> None:
        Path(self.path).unlink(missing_ok=True)


class TsvSink:
    stable_tasks: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, batch: BatchId) -> TsvOpener:
        self._folder.mkdir(parents=True, exist_ok=True)
        return TsvOpener(str(self._folder))

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        """Replaces what an earlier try of the batch made visible."""
        for old in self._folder.glob(f"{batch.batch:06d}-*.tsv"):
            old.unlink()
        for number, message in enumerate(messages):
            Path(message["path"]).rename(self._folder / f"{batch.batch:06d}-{number}.tsv")

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:
        for message in messages:
            Path(message["path"]).unlink(missing_ok=True)


def open_sink(sink: SinkDef, base: Path) -> TsvSink:
    return TsvSink(base / sink.option("path"))
