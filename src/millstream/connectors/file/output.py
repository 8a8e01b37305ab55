"""Finds the files that a file sink has written, for `run --fresh` and the preview of rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from pyarrow import fs

from millstream.connectors.file.batch_files import batch_of
from millstream.connectors.file.sink_options import partition_columns
from millstream.connectors.paths import filesystem, resolve
from millstream.plan.nodes import SinkDef

PREVIEWED = ("csv", "json", "parquet")  # the formats that `FileOutput.rows` reads


@dataclass(frozen=True, slots=True)
class FileOutput:
    """The output of a file sink."""

    path: str
    form: str
    partitions: tuple[str, ...] = ()
    header: bool = True
    label: str | None = None  # None: files with any label

    def with_label(self, query: str) -> FileOutput:
        return replace(self, label=f".{query}")

    def files(self, first_batch: int = 0) -> list[str]:
        return batch_files(self.path, self.partitions, first_batch, self.label)

    def remove(self) -> None:
        system, _ = filesystem(self.path)
        for file in self.files():
            system.delete_file(file)

    def rows(self, names: Sequence[str], first_batch: int) -> Iterator[list[str]]:
        if self.form not in PREVIEWED:
            return
        system, _ = filesystem(self.path)
        for file in self.files(first_batch):
            with system.open_input_file(file) as opened:
                if self.form == "parquet":
                    import pyarrow.parquet as pq

                    for row in pq.read_table(opened).to_pylist():
                        yield [_cell(row.get(name)) for name in names]
                    continue
                text = io.TextIOWrapper(io.BytesIO(opened.read()), encoding="utf-8", newline="")
            if self.form == "json":
                for line in text:
                    row = json.loads(line)
                    yield [_cell(row.get(name)) for name in names]
            else:
                yield from islice(csv.reader(text), 1 if self.header else 0, None)


def open_output(sink: SinkDef, base: Path) -> FileOutput:
    return FileOutput(
        resolve(sink.option("path"), base),
        sink.option("format", "json").lower(),
        partition_columns(sink),
        sink.option("header", "true").lower() == "true",
    )


def _cell(value: object) -> str:
    return "NULL" if value is None else str(value)


def batch_files(
    path: str, partitions: Sequence[str] = (), first_batch: int = 0, label: str | None = None
) -> list[str]:
    """Returns the files of a file sink from a batch on, in order: all, or those with a label.
    Folders that are not partitions of the sink are ignored."""
    system, root = filesystem(path)
    folders = [root]
    for name in partitions:
        folders = [
            info.path
            for folder in folders
            for info in _list_folder(system, folder)
            if not info.is_file and info.base_name.lower().startswith(f"{name.lower()}=")
        ]
    found = []
    for info in (info for folder in folders for info in _list_folder(system, folder)):
        batch = batch_of(info.base_name, label) if info.is_file else None
        if batch is not None and batch >= first_batch:
            found.append(info.path)
    return sorted(found)


def _list_folder(system: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    if system.get_file_info(folder).type is not fs.FileType.Directory:
        return []
    return list(system.get_file_info(fs.FileSelector(folder)))
