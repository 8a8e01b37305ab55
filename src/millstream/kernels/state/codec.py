"""Frames as Arrow IPC streams.

Measured on 475 k rows of seven columns, two of them texts, 37 MB: PyArrow writes LZ4 in 75 ms
(plain 48 ms, ZSTD 124 ms) at 60 % of the size, and reads it in 24 ms; Polars writes it in 156 ms.
On 500 rows it is the other way round: Polars writes plain bytes in 0.06 ms, PyArrow LZ4 in 0.4 ms.
Small frames are soon merged into large ones, so their size matters little.
"""

from __future__ import annotations

import io
from typing import cast

import polars as pl
import pyarrow as pa

SMALL_ROWS = 4096
_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)  # workers share the cores


def size_of(frame: pl.DataFrame) -> int:
    """Bytes of a frame as it is written plain, but for its head of some hundred bytes."""
    texts = sum(kind in {pl.String, pl.Binary} for kind in frame.dtypes)
    return int(frame.estimated_size()) + 16 * texts * frame.height


def encode(frame: pl.DataFrame) -> bytes:
    if frame.height < SMALL_ROWS:
        small = io.BytesIO()
        frame.write_ipc_stream(small, compat_level=pl.CompatLevel.newest())
        return small.getvalue()
    # Strings as views would drag along the whole buffers they were cut from: PyArrow writes all.
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_LZ4) as writer:
        writer.write_table(table)
    return cast(bytes, sink.getvalue().to_pybytes())


def decode(blob: bytes | memoryview, rows: int) -> pl.DataFrame:
    if rows < SMALL_ROWS:
        return pl.read_ipc_stream(io.BytesIO(blob))
    return cast(pl.DataFrame, pl.from_arrow(pa.ipc.open_stream(pa.py_buffer(blob)).read_all()))
