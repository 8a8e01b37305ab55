"""Avro files: blocks are decoded by Polars or, if the schema has maps or unions of several types,
record by record by fastavro, which takes 25 times as long."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO, Any

import polars as pl
import pyarrow as pa

from millstream.connectors.dead_letters import DELETED
from millstream.connectors.file.avro_container import (
    AvroBlock,
    AvroHeader,
    container,
    decompress,
    read_blocks,
    read_header,
)
from millstream.connectors.file.parquet_types import reads_as
from millstream.connectors.file.row_group_files import RowGroupFiles
from millstream.connectors.file.text_file import UnreadableFileError, not_opened
from millstream.connectors.file.values import Column
from millstream.connectors.paths import filesystem, to_local_path

_GROUP = 1 << 20  # bytes of blocks that are decoded at a time; if that fails, one by one
_DECODED = ("null", "boolean", "int", "long", "float", "double", "bytes", "string", "enum", "fixed")
_CODECS = ("null", "deflate", "snappy")  # that Polars decompresses
_INSTALL = "it needs fastavro: pip install 'millstream[avro]'."


@dataclass(frozen=True, slots=True)
class AvroFiles(RowGroupFiles):
    @contextmanager
    def open(self, path: str) -> Iterator[AvroFile]:
        with _opened(path) as file:
            header = read_header(file)
            size = file.seek(0, os.SEEK_END)
            blocks = list(read_blocks(file, header, size))
            yield AvroFile(file, header, _grouped(blocks), self.columns)

    def accepts(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Avro has no integers of 8 and 16 bits; a value that does not fit is malformed."""
        is_narrow = pa.types.is_int8(wanted) or pa.types.is_int16(wanted)
        return reads_as(found, wanted) or (pa.types.is_int32(found) and is_narrow)

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:  # noqa: ARG002
        """Returns the size of the file: a record is decoded as a whole."""
        try:
            system, name = filesystem(path)
            return int(system.get_file_info(name).size or 0)
        except (OSError, pa.ArrowException):
            return 0


@dataclass(slots=True)
class AvroFile:
    """An open file, whose row groups are runs of blocks."""

    file: IO[bytes]
    header: AvroHeader
    runs: Sequence[Sequence[AvroBlock]]
    columns: Sequence[Column]
    schema: pa.Schema = field(init=False)
    _is_fast: bool = field(init=False)

    def __post_init__(self) -> None:
        fields = self.header.schema["fields"]
        self._is_fast = all(_is_decoded(each["type"]) for each in fields)
        if self._is_fast:
            self.schema = _by_polars(replace(self.header, codec="null"), b"").schema
        else:
            known = {column.name.lower(): column.type for column in self.columns}
            names = [each["name"] for each in fields]
            self.schema = pa.schema([(n, known.get(n.lower(), pa.null())) for n in names])

    @property
    def groups(self) -> Sequence[int]:
        return [sum(block.rows for block in run) for run in self.runs]

    def read(self, group: int, names: Sequence[str]) -> Iterator[tuple[int, pa.Table | Exception]]:
        run = self.runs[group]
        whole = self._decoded(run, names)
        if not isinstance(whole, Exception) or len(run) == 1:
            yield self.groups[group], whole
            return
        for block in run:
            yield block.rows, self._decoded([block], names)

    def _decoded(self, run: Sequence[AvroBlock], names: Sequence[str]) -> pa.Table | Exception:
        self.file.seek(run[0].offset)
        data = self.file.read(sum(block.size for block in run))
        try:
            header = self.header
            if not self._is_fast or header.codec not in _CODECS:
                header, data = decompress(header, data)
            found = _by_polars(header, data) if self._is_fast else self._by_fastavro(header, data)
        except UnreadableFileError:
            raise
        # Decoders of damaged bytes fail in many ways; Polars panics with a BaseException.
        except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001
            return pa.ArrowInvalid(str(error).splitlines()[0] if str(error) else repr(error))
        rows = sum(block.rows for block in run)
        if found.num_rows != rows:
            return pa.ArrowInvalid(f"a block has {found.num_rows} records instead of {rows}")
        return found.select(list(names))

    def _by_fastavro(self, header: AvroHeader, data: bytes) -> pa.Table:
        try:
            import fastavro
        except ImportError:
            raise UnreadableFileError(_INSTALL) from None
        reader: Iterator[Any] = fastavro.reader(container(header, data))
        records = list(reader)
        arrays = [
            pa.array([_value(record[each.name], each.type) for record in records], each.type)
            for each in self.schema
            if not pa.types.is_null(each.type)
        ]
        names = [each.name for each in self.schema if not pa.types.is_null(each.type)]
        return pa.table(arrays, names) if names else pa.table({"": pa.nulls(len(records))})


def _by_polars(header: AvroHeader, data: bytes) -> pa.Table:
    frame = pl.read_avro(container(header, data))
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _grouped(blocks: Sequence[AvroBlock]) -> list[list[AvroBlock]]:
    runs: list[list[AvroBlock]] = []
    size = 0
    for block in blocks:
        if not runs or size + block.size > _GROUP:
            runs.append([])
            size = 0
        runs[-1].append(block)
        size += block.size
    return runs


def _is_decoded(kind: Any) -> bool:
    """Whether Polars decodes values of an Avro type."""
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        return len(others) == 1 and len(kind) <= 2 and _is_decoded(others[0])
    if isinstance(kind, str):
        return kind in _DECODED
    name = kind["type"]
    if name == "record":
        return all(_is_decoded(each["type"]) for each in kind["fields"])
    if name == "array":
        return _is_decoded(kind["items"])
    return _is_decoded(name) and kind.get("logicalType") != "duration"


def _value(value: Any, kind: pa.DataType) -> Any:
    """Converts a value that Arrow does not: the entries of a map."""
    if value is None:
        return None
    if pa.types.is_map(kind) and isinstance(value, dict):
        return [(key, _value(each, kind.item_type)) for key, each in value.items()]
    if pa.types.is_struct(kind) and isinstance(value, dict):
        own = {name.lower(): each for name, each in value.items()}
        return {each.name: _value(own.get(each.name.lower()), each.type) for each in kind}
    if pa.types.is_list(kind) and isinstance(value, list):
        return [_value(each, kind.value_type) for each in value]
    return value


def _opened(path: str) -> Any:
    try:
        if path.startswith(("/", "file:")):
            return open(to_local_path(path), "rb")  # noqa: PTH123 -- closed by the caller
        system, name = filesystem(path)
        return io.BytesIO(system.open_input_file(name).read())
    except FileNotFoundError:
        raise UnreadableFileError(DELETED) from None
    except OSError as error:
        raise not_opened(path, error) from None
