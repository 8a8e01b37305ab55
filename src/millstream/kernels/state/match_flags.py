"""Match flags: one bit per row of a segment, stored apart from the immutable rows.

    flags of a segment = its column `_m`, or its last bitmap, + its share of the recent flags

Recent flags are one small record of row numbers for all segments, rewritten when it changes. When
it grows, the segments with most recent flags get a new bitmap instead.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from millstream.kernels.core.key_index import Bools, Ints

MATCHED = "_m"
Rows32 = npt.NDArray[np.uint32]
Recent = dict[int, Rows32]  # by the segment's uid


def encode_recent(recent: Recent) -> bytes:
    heads = b"".join(struct.pack("<QI", uid, len(rows)) for uid, rows in recent.items())
    return b"".join(
        [struct.pack("<I", len(recent)), heads, *(rows.tobytes() for rows in recent.values())]
    )


def decode_recent(blob: bytes | memoryview) -> Recent:
    (count,) = struct.unpack_from("<I", blob)
    at = 4 + 12 * count
    recent: Recent = {}
    for number in range(count):
        uid, length = struct.unpack_from("<QI", blob, 4 + 12 * number)
        recent[uid] = np.frombuffer(blob, np.uint32, length, at).copy()
        at += 4 * length
    return recent


def to_bitmap(matched: Bools) -> bytes:
    return np.packbits(matched).tobytes()


def from_bitmap(blob: bytes | memoryview, rows: int) -> Bools:
    return np.unpackbits(np.frombuffer(blob, np.uint8), count=rows).view(np.bool_)


def set_flags(matched: Bools, rows: Ints, once_each: bool) -> Ints:
    """Sets the flags of rows, which may repeat; returns the rows whose flags were not set before.

    With `once_each`, each of these rows is returned once.
    """
    if not once_each:
        fresh = rows[~matched[rows]]
        matched[fresh] = True
        return fresh
    if 16 * rows.size > matched.size:
        before = matched.copy()
        matched[rows] = True
        return np.flatnonzero(matched & ~before)
    fresh = np.unique(rows[~matched[rows]])
    matched[fresh] = True
    return fresh


def worth_a_bitmap(sizes: Iterable[tuple[int, int, int]], recent_bytes: int) -> list[int]:
    """Returns the segments whose recent flags should become a bitmap, given (uid, recent flags,
    rows)."""
    chosen, left = [], []
    for uid, flags, rows in sizes:
        if 4 * flags > rows // 8 + 64:
            chosen.append(uid)
        else:
            left.append((flags, uid))
    total = sum(4 * flags for flags, _ in left)
    for flags, uid in sorted(left, reverse=True):
        if total <= recent_bytes:
            break
        chosen.append(uid)
        total -= 4 * flags
    return chosen
