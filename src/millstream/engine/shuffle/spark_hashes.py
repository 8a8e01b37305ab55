"""Spark's hash functions over columns: the same results as `hash` and `xxhash64` in SQL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_SEED = 42
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)

_TEXTS = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)

Hashes = npt.NDArray[np.uint64]


def murmur3_int(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Spark's `hash(int)`: Murmur3 x86 32-bit of the four bytes, seed 42."""
    with np.errstate(over="ignore"):
        k = values.astype(np.uint32) * np.uint32(0xCC9E2D51)
        k = _rotate32(k, 15) * np.uint32(0x1B873593)
        h = _rotate32(np.uint32(_SEED) ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(4)
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> np.uint32(13)
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    return h.view(np.int32)


def xxhash64(columns: Sequence[pa.ChunkedArray]) -> npt.NDArray[np.int64]:
    """Spark's `xxhash64(column, …)` of integers, booleans, dates, times, texts and bytes. NULL
    does not change the hash."""
    first, *others = columns
    hashes = np.full(len(first), _SEED, np.uint64)
    for column in (first, *others):
        own = _hashed(column, hashes)
        if column.null_count:
            own = np.where(_valid(column), own, hashes)
        hashes = own
    return hashes.view(np.int64)


def _hashed(column: pa.ChunkedArray, seeds: Hashes) -> Hashes:
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_int64(kind):
        return _of_longs(_numbers(column.cast(pa.int64())).view(np.uint64), seeds)
    if any(is_text(kind) for is_text in _TEXTS):
        return _of_texts(column.cast(pa.large_binary()), seeds)
    if pa.types.is_boolean(kind) or pa.types.is_date32(kind):
        column = column.cast(pa.int8() if pa.types.is_boolean(kind) else pa.int32())
    numbers = _numbers(column).astype(np.int32).view(np.uint32)
    return _of_ints(numbers.astype(np.uint64), seeds)


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return (pc.fill_null(column, 0) if column.null_count else column).to_numpy()  # type: ignore[no-any-return]


def _valid(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return pc.is_valid(column).to_numpy()  # type: ignore[no-any-return]


def _of_longs(values: Hashes, seeds: Hashes) -> Hashes:
    with np.errstate(over="ignore"):
        made = seeds + _P5 + np.uint64(8)
        made ^= _rotate64(values * _P2, 31) * _P1
        return _mixed(_rotate64(made, 27) * _P1 + _P4)


def _of_ints(values: Hashes, seeds: Hashes) -> Hashes:
    with np.errstate(over="ignore"):
        made = seeds + _P5 + np.uint64(4)
        made ^= values * _P1
        return _mixed(_rotate64(made, 23) * _P2 + _P3)


def _of_texts(column: pa.ChunkedArray, seeds: Hashes) -> Hashes:
    """Hashes texts of equal length together."""
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # of no chunks
        return seeds
    _, offsets, content = values.buffers()
    begin = values.offset
    ends = np.frombuffer(offsets, np.int64)[begin : begin + len(values) + 1]
    lengths = np.diff(ends)
    order = np.argsort(lengths, kind="stable")
    made = np.empty(len(values), np.uint64)
    at = 0
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        rows = order[at : at + count]
        at += count
        made[rows] = _of_octets(content, ends[rows], int(length), seeds[rows])
    return made


def _of_octets(
    content: pa.Buffer, begins: npt.NDArray[np.int64], length: int, seeds: Hashes
) -> Hashes:
    """XXH64 of texts of equal length."""

    def words(at: int, kind: str = "<u8") -> Hashes:
        width = np.dtype(kind).itemsize
        # A view of the words at every byte, of which the needed ones are selected.
        every = np.ndarray((content.size - width + 1,), kind, content, strides=(1,))
        return every[begins + at].astype(np.uint64)

    at = 0
    with np.errstate(over="ignore"):
        made = seeds + _P5
        if length >= 32:
            lanes = [seeds + _P1 + _P2, seeds + _P2, seeds, seeds - _P1]
            while at + 32 <= length:
                lanes = [_round(lane, words(at + 8 * n)) for n, lane in enumerate(lanes)]
                at += 32
            made = np.zeros_like(seeds)
            for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True):
                made += _rotate64(lane, bits)
            for lane in lanes:
                made = (made ^ _round(np.zeros_like(lane), lane)) * _P1 + _P4
        made = made + np.uint64(length)
        while at + 8 <= length:
            made ^= _round(np.zeros_like(made), words(at))
            made = _rotate64(made, 27) * _P1 + _P4
            at += 8
        if at + 4 <= length:
            made ^= words(at, "<u4") * _P1
            made = _rotate64(made, 23) * _P2 + _P3
            at += 4
        for place in range(at, length):
            made ^= words(place, "u1") * _P5
            made = _rotate64(made, 11) * _P1
        return _mixed(made)


def _round(lane: Hashes, words: Hashes) -> Hashes:
    return _rotate64(lane + words * _P2, 31) * _P1


def _mixed(made: Hashes) -> Hashes:
    with np.errstate(over="ignore"):
        made ^= made >> np.uint64(33)
        made *= _P2
        made ^= made >> np.uint64(29)
        made *= _P3
        made ^= made >> np.uint64(32)
    return made


def _rotate64(value: Hashes, bits: int) -> Hashes:
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


def _rotate32(value: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (value << np.uint32(bits)) | (value >> np.uint32(32 - bits))
