"""Which rows of a segment have met a partner: a bit a row, kept apart from the immutable rows.

    marks of a segment = its own column `_m`, or its last bitmap, + its share of the recent marks

Recent marks are one small record of row numbers for all segments, written anew when it changes.
When it grows, the segments with most of it get a new bitmap instead.
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


def set_marks(matched: Bools, rows: Ints, once_each: bool) -> Ints:
    """Marks rows, which may repeat, and gives those that were not marked before."""
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
    """Of (uid, recent marks, rows), the segments whose recent marks should become a bitmap."""
    chosen, left = [], []
    for uid, marks, rows in sizes:
        if 4 * marks > rows // 8 + 64:
            chosen.append(uid)
        else:
            left.append((marks, uid))
    total = sum(4 * marks for marks, _ in left)
    for marks, uid in sorted(left, reverse=True):
        if total <= recent_bytes:
            break
        chosen.append(uid)
        total -= 4 * marks
    return chosen
