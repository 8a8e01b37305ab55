"""Parquet files, read by Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.connectors.dead_letters import DELETED
from millstream.connectors.file.row_group_files import RowGroupFile, RowGroupFiles
from millstream.connectors.file.text_file import UnreadableFileError, not_opened
from millstream.connectors.file.values import Column
from millstream.connectors.paths import filesystem, to_local_path

_DAMAGED = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError)
# Metadata of files whose dates Spark wrote in the hybrid calendar of Spark 2.
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True, slots=True)
class ParquetFiles(RowGroupFiles):
    @contextmanager
    def open(self, path: str) -> Iterator[ParquetFile]:
        with _opened(path) as file:
            yield ParquetFile(file)

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:
        names = {name.lower() for name in wanted}
        try:
            found = pq.read_metadata(path)
        except (pa.ArrowInvalid, OSError):  # reported when it is read
            return 0
        parts = (found.row_group(number) for number in range(found.num_row_groups))
        columns = (part.column(number) for part in parts for number in range(part.num_columns))
        return sum(
            each.total_uncompressed_size for each in columns if each.path_in_schema.lower() in names
        )

    def reject(self, file: RowGroupFile, declared: Sequence[Column]) -> None:
        assert isinstance(file, ParquetFile)
        old = [key for key in _OLD_CALENDAR if key in (file.file.metadata.metadata or {})]
        if old and any(pa.types.is_temporal(column.type) for column in declared):
            raise UnreadableFileError("it has dates in the hybrid calendar of Spark 2.")


@dataclass(frozen=True, slots=True)
class ParquetFile:
    file: pq.ParquetFile

    @property
    def schema(self) -> pa.Schema:
        return self.file.schema_arrow

    @property
    def groups(self) -> Sequence[int]:
        known = self.file.metadata
        return [known.row_group(number).num_rows for number in range(known.num_row_groups)]

    def read(self, group: int, names: Sequence[str]) -> Iterator[tuple[int, pa.Table | Exception]]:
        rows = self.file.metadata.row_group(group).num_rows
        try:
            yield rows, self.file.read_row_group(group, columns=list(names), use_threads=False)
        except _DAMAGED as error:
            yield rows, error


def _opened(path: str) -> pq.ParquetFile:
    options: dict[str, Any] = {"coerce_int96_timestamp_unit": "us"}
    try:
        if path.startswith(("/", "file:")):
            return pq.ParquetFile(to_local_path(path), memory_map=True, **options)
        system, name = filesystem(path)
        return pq.ParquetFile(system.open_input_file(name), **options)
    except FileNotFoundError:
        raise UnreadableFileError(DELETED) from None
    except pa.ArrowInvalid as error:
        raise UnreadableFileError(f"it is not a whole Parquet file: {error}.") from None
    except OSError as error:
        if error.errno is None:
            raise UnreadableFileError(f"it is not a whole Parquet file: {error}.") from None
        raise not_opened(path, error) from None
