"""Reads data files of a table on executors, with the values of partition columns from the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from millstream.connectors.file.parquet_files import ParquetFiles
from millstream.connectors.file.rejections import unreadable
from millstream.connectors.file.values import Column
from millstream.connectors.lake.data_file import DataFile


@dataclass(frozen=True, slots=True)
class LakeFiles:
    """The declared columns of a source. A column that a file lacks is NULL, as in files that are
    older than the column."""

    columns: tuple[Column, ...]
    min_part_bytes: ClassVar[int] = ParquetFiles.min_part_bytes

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:
        file = DataFile.decoded(path)
        return self._files(file).size_of(file.path, wanted)

    def read(
        self, path: str, wanted: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        file = DataFile.decoded(path)
        texts = {name.lower(): value for name, value in file.values}
        given: dict[str, pa.Scalar] = {}
        for name, kind in wanted.items():
            if name.lower() in texts:
                text = texts[name.lower()]
                try:
                    given[name] = partition_value(text, kind)
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                    if part == 0:
                        why = f"its partition value {name}={text} is not {kind}."
                        yield unreadable(file.path, why, wanted)
                    return
        stored = {name: kind for name, kind in wanted.items() if name not in given}
        for rows in self._files(file).read(file.path, stored, part, parts):
            own = rows.schema.names[len(stored) :]
            arrays = [
                pa.repeat(given[name], rows.num_rows) if name in given else rows.column(name)
                for name in wanted
            ]
            arrays += [rows.column(name) for name in own]
            yield pa.RecordBatch.from_arrays(arrays, [*wanted, *own])

    def _files(self, file: DataFile) -> ParquetFiles:
        partitions = {name.lower() for name, _ in file.values}
        columns = tuple(each for each in self.columns if each.name.lower() not in partitions)
        return ParquetFiles(file.path.rpartition("/")[0], columns, any_file=True)


def partition_value(text: str | None, kind: pa.DataType) -> pa.Scalar:
    """Returns the value of a partition column from its text in the log."""
    if text is None:
        return pa.scalar(None, kind)
    if pa.types.is_timestamp(kind):
        local = pa.scalar(text.removesuffix("Z").replace("T", " ")).cast(pa.timestamp("us"))
        return pa.scalar(local.value, pa.timestamp("us")).cast(kind)
    return pa.scalar(text).cast(kind)
