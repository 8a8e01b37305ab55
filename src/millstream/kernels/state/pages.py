"""Encoding of frames as Arrow IPC streams, and their storage in pages of the state store.

Data that is written together and expires together shares a page, so it costs one call.

Measured on 475 k rows of seven columns, two of them strings, 37 MB: PyArrow writes LZ4 in 75 ms
(plain 48 ms, ZSTD 124 ms) at 60 % of the size, and reads it in 24 ms; Polars writes it in 156 ms.
On 500 rows Polars is faster: it writes plain bytes in 0.06 ms, PyArrow LZ4 in 0.4 ms. Small frames
are soon merged into large ones, so their size matters little.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import cast

import polars as pl
import pyarrow as pa

from millstream.errors import StateError
from millstream.kernels.core.kernel import MapState
from millstream.kernels.state.manifest import Ref

SMALL_ROWS = 4096
_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)  # workers share the cores


def size_of(frame: pl.DataFrame) -> int:
    """Estimates the size of an uncompressed frame, without its header of a few hundred bytes."""
    texts = sum(kind in {pl.String, pl.Binary} for kind in frame.dtypes)
    return int(frame.estimated_size()) + 16 * texts * frame.height


def encode(frame: pl.DataFrame) -> bytes:
    if frame.height < SMALL_ROWS:
        small = io.BytesIO()
        frame.write_ipc_stream(small, compat_level=pl.CompatLevel.newest())
        return small.getvalue()
    # PyArrow writes the whole buffers behind string views, so convert to plain strings.
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_LZ4) as writer:
        writer.write_table(table)
    return cast(bytes, sink.getvalue().to_pybytes())


def decode(blob: bytes | memoryview, rows: int) -> pl.DataFrame:
    if rows < SMALL_ROWS:
        return pl.read_ipc_stream(io.BytesIO(blob))
    return cast(pl.DataFrame, pl.from_arrow(pa.ipc.open_stream(pa.py_buffer(blob)).read_all()))


class Pages:
    """The pages of one key group, for one step. `used` are the pages in use when the step began."""

    def __init__(self, store: MapState, used: set[int]) -> None:
        self._store = store
        self._used = used
        self._read: dict[int, memoryview] = {}

    def read(self, ref: Ref) -> memoryview:
        page = self._read.get(ref.page)
        if page is None:
            blob = self._store.get(ref.page)
            if blob is None:
                raise StateError(
                    "MS-STATE-LOST",
                    f"the state store has no page {ref.page}, which its manifest refers to.",
                    fix="The checkpoint is damaged: restore it from a copy, or start a new one.",
                )
            page = self._read[ref.page] = memoryview(blob)
        return page[ref.offset : ref.offset + ref.size]

    def write(self, bundles: Sequence[Sequence[bytes]], still_used: set[int]) -> list[list[Ref]]:
        """Writes each bundle as a page. Reuses pages that are no longer in use, which saves calls
        to remove them."""
        free = sorted(self._used - still_used)
        beyond = max(self._used, default=-1) + 1
        refs = []
        for parts in bundles:
            if free:
                page = free.pop(0)
            else:
                page, beyond = beyond, beyond + 1
            self._store.put(page, parts[0] if len(parts) == 1 else b"".join(parts))
            self._read.pop(page, None)
            refs.append(_places(page, parts))
        for page in free:
            self._store.remove(page)
        return refs


def _places(page: int, parts: Sequence[bytes]) -> list[Ref]:
    places, offset = [], 0
    for part in parts:
        places.append(Ref(page, offset, len(part)))
        offset += len(part)
    return places
