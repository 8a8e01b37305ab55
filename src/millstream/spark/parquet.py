"""Parquet files as packers read them: as Spark would, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.connectors.paths import local, value_folder
from millstream.errors import RunError

_BATCH_ROWS = 250_000
# How Spark marks files whose dates it wrote by the calendar of its version 2.
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """The files of a source, and the folder that they are in."""

    source: str
    base: str
    least_part: ClassVar[int] = 16 << 20

    def size_of(self, path: str, asked: Mapping[str, pa.DataType]) -> int:
        """Bytes of the columns that are read of a file, unpacked; 0 if it cannot be read."""
        names = {name.lower() for name in asked}
        try:
            found = pq.read_metadata(path)
        except (pa.ArrowInvalid, OSError):  # those who read it will say so
            return 0
        parts = (found.row_group(number) for number in range(found.num_row_groups))
        columns = (part.column(number) for part in parts for number in range(part.num_columns))
        return sum(
            each.total_uncompressed_size for each in columns if each.path_in_schema.lower() in names
        )

    def read(
        self, path: str, asked: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        if folder := value_folder(local(path), self.base, asked):
            why = f"is in a folder that is the value of a column, {folder}"
            raise self._refused(local(path), why)
        with self._opened(path) as file:
            found = self._found(file, asked, path)
            names = list(dict.fromkeys(name for name in found.values() if name is not None))
            for batch in _own_part(file, names, part, parts):
                columns = [
                    self._column(name, kind, batch, found[name], path)
                    for name, kind in asked.items()
                ]
                yield pa.RecordBatch.from_arrays(columns, list(asked))

    def _opened(self, path: str) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(local(path), coerce_int96_timestamp_unit="us", memory_map=True)
        except (pa.ArrowInvalid, OSError) as error:
            raise RunError(
                "MS-RUN-PARQUET",
                f"source {self.source}: {path} cannot be read: {error}",
                fix="Mend the file, or take it out of the folder.",
            ) from None

    def _found(
        self, file: pq.ParquetFile, asked: Mapping[str, pa.DataType], path: str
    ) -> dict[str, str | None]:
        """The file's own name of each column: letter case does not matter. None: it has none."""
        found: dict[str, str | None] = {}
        for each in asked:
            same = [name for name in file.schema_arrow.names if name.lower() == each.lower()]
            if len(same) > 1:
                raise self._refused(path, f"holds column {each} {len(same)} times")
            found[each] = same[0] if same else None
        old = [key for key in _OLD_CALENDAR if key in (file.metadata.metadata or {})]
        if old and any(map(pa.types.is_temporal, asked.values())):
            raise self._refused(path, "holds dates by the calendar of Spark 2")
        return found

    def _column(
        self, name: str, kind: pa.DataType, batch: pa.RecordBatch, own: str | None, path: str
    ) -> pa.Array:
        if own is None:
            return pa.nulls(batch.num_rows, kind)
        column = batch.column(own)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.type == kind:
            return column
        if not reads_as(column.type, kind):
            raise self._refused(path, f"holds column {name} as {column.type}, not as {kind}")
        try:
            return column.cast(kind)
        except pa.ArrowInvalid as error:
            raise self._refused(path, f"holds in column {name} {error}") from None

    def _refused(self, path: str, why: str) -> RunError:
        return RunError(
            "MS-RUN-PARQUET",
            f"source {self.source}: {path} {why}.",
            fix="Declare the column as the file has it, or have Spark read the files: "
            "'reader' = 'spark' in the WITH of a source, .option('reader', 'spark') in Python.",
        )


def _own_part(
    file: pq.ParquetFile, names: list[str], part: int, parts: int
) -> Iterator[pa.RecordBatch]:
    """Whole row groups if there are enough of them, else rows."""
    count, total = file.num_row_groups, file.metadata.num_rows
    if count >= parts:
        groups = list(range(count * part // parts, count * (part + 1) // parts))
        yield from file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=names)
        return
    begin, end = total * part // parts, total * (part + 1) // parts
    start = 0
    for batch in file.iter_batches(_BATCH_ROWS, columns=names):
        first, last = max(begin - start, 0), min(end - start, batch.num_rows)
        start += batch.num_rows
        if first < last:
            yield batch.slice(first, last - first)
        if start >= end:
            return


def reads_as(held: pa.DataType, asked: pa.DataType) -> bool:
    """Is every value of one type also one of the other, as Spark reads it?"""
    if pa.types.is_signed_integer(held) and pa.types.is_signed_integer(asked):
        return bool(held.bit_width <= asked.bit_width)
    if pa.types.is_timestamp(held) and pa.types.is_timestamp(asked):
        return held.unit in ("ms", "us")
    if pa.types.is_decimal(held) and pa.types.is_decimal(asked):
        return bool(held.scale == asked.scale and held.precision <= asked.precision)
    if pa.types.is_float32(held) and pa.types.is_float64(asked):
        return True
    return _is_text(held) and _is_text(asked)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
    )
