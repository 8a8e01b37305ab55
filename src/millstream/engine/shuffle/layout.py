"""Computes packet columns from the columns that Spark sends to a packer.

Spark sends each column of the stream once, however many packet columns are computed from it. Here,
these are times in microseconds, hashes of keys, and key groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.engine.shuffle.spark_hashes import xxhash64
from millstream.kernels.core.kernel import HASH, TIME

GROUP = "_g"


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """A packet column: the column sent as `input_name`, as a 64-bit integer if `as_int64`."""

    name: str
    input_name: str
    as_int64: bool = False


@dataclass(frozen=True, slots=True)
class PacketLayout:
    """The columns of packets, in order, and how they are computed.

    Attributes:
        mappings: The columns that are sent.
        hash_columns: The sent columns whose hash is HASH.
        null_if_missing: Whether HASH is NULL if one of them is.
        group_columns: The sent columns whose hash determines the key group. If one of them is
            NULL, the time does.
        equal_columns: Packet columns that are equal to another one and not packed, with its name.
        may_match: The sent column that is false for rows that fail the ON predicate over their own
            columns: they match nothing, as if their key were NULL.
    """

    mappings: tuple[ColumnMapping, ...]
    hash_columns: tuple[str, ...] | None = None
    null_if_missing: bool = False
    group_columns: tuple[str, ...] | None = None
    equal_columns: tuple[tuple[str, str], ...] = ()
    may_match: str | None = None

    def apply(self, chunk: pa.Table, groups: int) -> pa.Table:
        """Returns the packet columns of a chunk."""
        columns: dict[str, pa.ChunkedArray | pa.Array] = {}
        if self.hash_columns is not None:
            missing = (
                self._rows_without_key(chunk, self.hash_columns) if self.null_if_missing else None
            )
            columns[HASH] = pa.array(_hashes(chunk, self.hash_columns), mask=missing)
        for mapping in self.mappings:
            column = (
                chunk[mapping.input_name].cast(pa.int64())
                if mapping.as_int64
                else chunk[mapping.input_name]
            )
            if mapping.name == HASH and self.may_match is not None:
                column = pc.if_else(chunk[self.may_match], column, pa.scalar(None, column.type))
            columns[mapping.name] = column
        if self.group_columns is not None:
            columns[GROUP] = pa.array(self._groups(chunk, columns[TIME], groups))
        return pa.table(columns)

    def _groups(self, chunk: pa.Table, time: pa.ChunkedArray, groups: int) -> npt.NDArray[np.int32]:
        assert self.group_columns
        hashes = _hashes(chunk, self.group_columns)
        missing = self._rows_without_key(chunk, self.group_columns)
        if missing is not None:
            # Rows that match nothing are distributed by time; in one group, they would be skewed.
            hashes = np.where(missing, xxhash64([time]), hashes)
        return (hashes % groups).astype(np.int32)

    def _rows_without_key(
        self, chunk: pa.Table, names: tuple[str, ...]
    ) -> npt.NDArray[np.bool_] | None:
        """The rows without a key; None if all have one."""
        missing = [pc.is_null(chunk[name]).to_numpy() for name in names if chunk[name].null_count]
        if self.may_match is not None:
            missing.append(pc.invert(chunk[self.may_match]).to_numpy())
        return np.logical_or.reduce(missing) if missing else None


def _hashes(chunk: pa.Table, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    if not names:
        return np.zeros(chunk.num_rows, np.int64)
    return xxhash64([chunk[name] for name in names])
