"""Values from the texts of a CSV file.

Arrow's CSV reader converts a whole block of a file at once, or refuses all of it. Of a block that
it refuses, columns are read as texts and converted here, by the same rules, and the texts that are
no values are found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
HERE, ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")
_OFFSET = r"[ T]\d\d.*(Z|[+-][0-9:]+)$"  # a date alone ends in something alike


def converted(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """The values of texts, and the places of those that are none, where a NULL stands."""
    try:
        return values(texts, kind), []
    except pa.ArrowInvalid:
        unfit = list(_unfit(texts, kind, 0))
    lost = np.zeros(len(texts), bool)
    lost[unfit] = True
    return values(pc.if_else(lost, pa.scalar(None, texts.type), texts), kind), unfit


def _unfit(texts: pa.Array, kind: pa.DataType, first: int) -> Iterator[int]:
    try:
        values(texts, kind)
    except pa.ArrowInvalid:
        half = len(texts) // 2
        if half == 0:
            yield first
        else:
            yield from _unfit(texts[:half], kind, first)
            yield from _unfit(texts[half:], kind, first + half)


def values(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values of texts; ArrowInvalid if one of them is none."""
    if pa.types.is_binary(kind):
        return texts
    text = texts.cast(pa.string())
    if pa.types.is_string(kind):
        return text
    if pa.types.is_boolean(kind):
        return _booleans(text)
    if pa.types.is_timestamp(kind):
        return times(text)
    return pc.utf8_trim(text, " \t").cast(kind)


def _booleans(text: pa.Array) -> pa.Array:
    place = pc.index_in(text, pa.array([*TRUE, *FALSE]))
    if place.null_count > text.null_count:
        raise pa.ArrowInvalid("no boolean")
    return pc.less(place, len(TRUE))


def times(text: pa.Array) -> pa.Array:
    """Times with an offset and times without one, which are in UTC."""
    zoned, none = pc.match_substring_regex(text, _OFFSET), pa.scalar(None, pa.string())
    here = pc.if_else(zoned, none, text).cast(HERE)
    return pc.coalesce(here.cast(ZONED), pc.if_else(zoned, text, none).cast(ZONED))


def time_form(texts: pa.Array) -> pa.DataType:
    """The type in which Arrow reads such times at once; as texts if there are both kinds."""
    zoned = pc.match_substring_regex(texts, _OFFSET)
    if pc.all(zoned).as_py():
        return ZONED
    return pa.string() if pc.any(zoned).as_py() else HERE
