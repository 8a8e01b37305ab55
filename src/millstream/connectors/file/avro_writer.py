"""Writes Avro files: Polars encodes blocks, and the header has the exact types of the columns."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from millstream.connectors.file.avro_container import AvroHeader, read_blocks, read_header

_BLOCK = 4 << 20  # bytes in memory
_INSTANT = "timestamp-micros"


class AvroWriter:
    """Writes one file."""

    def __init__(self, system: fs.FileSystem, path: str, compression: str) -> None:
        self._stream = system.open_output_stream(path)
        self._codec: Any = {"none": "uncompressed", "": "snappy"}.get(compression, compression)
        self._sync = os.urandom(16)
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0
        self._is_open = False

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= _BLOCK:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._stream.close()

    def _flush(self) -> None:
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting)
        self._waiting, self._bytes = [], 0
        encoded = io.BytesIO()
        columns = [_writable(each.combine_chunks()) for each in table.columns]
        frame = pl.from_arrow(pa.table(columns, table.column_names))
        assert isinstance(frame, pl.DataFrame)
        frame.write_avro(encoded, compression=self._codec, name="row")
        encoded.seek(0)
        header = read_header(encoded)
        if not self._is_open:
            _set_types(header.schema["fields"], [each.type for each in table.schema])
            named = AvroHeader(header.schema, header.codec, self._sync, 0)
            self._stream.write(named.encoded())
            self._is_open = True
        data = encoded.getbuffer()
        for block in read_blocks(encoded, header, len(data)):
            self._stream.write(data[block.offset : block.offset + block.size - len(self._sync)])
            self._stream.write(self._sync)


def _writable(column: pa.Array) -> pa.Array:
    """Converts a column to types that Polars writes: times without a time zone, no small integers.
    Decimals become bytes: Polars 2.1 writes some of them with another sign."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz)).cast(pa.timestamp("us"))
    if pa.types.is_int8(kind) or pa.types.is_int16(kind):
        return column.cast(pa.int32())
    if pa.types.is_decimal(kind):
        return _big_endian(column.cast(pa.decimal128(38, kind.scale)))
    if pa.types.is_list(kind):
        inner = _writable(column.flatten())
        return pa.ListArray.from_arrays(_offsets(column), inner, mask=column.is_null())
    if pa.types.is_struct(kind):
        arrays = [_writable(each) for each in column.flatten()]
        names = [each.name for each in kind]
        return pa.StructArray.from_arrays(arrays, names, mask=column.is_null())
    return column


def _big_endian(column: pa.Array) -> pa.Array:
    """Returns the unscaled values of decimals as signed integers of 16 bytes."""
    size = column.type.byte_width
    data = column.buffers()[1][column.offset * size : (column.offset + len(column)) * size]
    reversed_bytes = np.frombuffer(data, np.uint8).reshape(-1, size)[:, ::-1].tobytes()
    offsets = pa.array(np.arange(len(column) + 1, dtype=np.int32) * size)
    binary = pa.BinaryArray.from_buffers(
        pa.binary(), len(column), [None, offsets.buffers()[1], pa.py_buffer(reversed_bytes)]
    )
    return pc.if_else(column.is_valid(), binary, pa.scalar(None, pa.binary()))


def _offsets(column: pa.ListArray) -> pa.Array:
    """Returns the offsets of lists in their flattened values; a NULL list has none."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    return pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))


def _set_types(fields: Sequence[dict[str, Any]], kinds: Sequence[pa.DataType]) -> None:
    """Sets the logical types of times and decimals in a schema that Polars has written."""
    for each, kind in zip(fields, kinds, strict=True):
        _set_type(each, "type", kind)


def _set_type(field: dict[str, Any], key: str, kind: pa.DataType) -> None:
    """Replaces the type in `field[key]`, which may be a union with null."""
    if isinstance(field[key], list):
        union = {"type": next(each for each in field[key] if each != "null")}
        _set_type(union, "type", kind)
        field[key] = ["null", union["type"]]
    elif pa.types.is_timestamp(kind) and kind.tz:
        field[key] = {"type": "long", "logicalType": _INSTANT}
    elif pa.types.is_decimal(kind):
        exact = {"precision": kind.precision, "scale": kind.scale}
        field[key] = {"type": "bytes", "logicalType": "decimal", **exact}
    elif pa.types.is_list(kind):
        _set_type(field[key], "items", kind.value_type)
    elif pa.types.is_struct(kind):
        _set_types(field[key]["fields"], [inner.type for inner in kind])
