"""Compaction of segments. Sizes grow in tiers, so there are few segments; time spans stay short, so
that whole segments expire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.kernels.state.manifest import Segment, tier
from millstream.kernels.state.pages import size_of
from millstream.kernels.state.sorted_rows import Rows


@dataclass(frozen=True, slots=True)
class LogSettings:
    max_blob: int = 32 << 20  # bytes of one value in the store, uncompressed
    small_rows: int = 2048  # a segment with fewer rows is rewritten with every addition
    fan_in: int = 4  # segments of one tier that are merged
    recent_bytes: int = 16 << 10  # of match flags that are row numbers; beyond it, bitmaps


def segments_to_merge(
    segments: Sequence[Segment], rows: Rows, live_from: int, settings: LogSettings
) -> list[Segment]:
    """Returns the last segments of the log that new rows should be merged with.

    A segment is dropped when its last row expires, so a merged segment may span at most half of the
    retained time, which is from `live_from` to the newest row.
    """
    count, first, last = len(rows), int(rows.times[0]), int(rows.times[-1])
    row_bytes = size_of(rows.frame) / count
    retained_span = max([last, *(segment.last for segment in segments)]) - live_from
    chosen: list[Segment] = []
    waiting: list[Segment] = []
    total = count
    for segment in reversed(segments):
        total += segment.live_rows
        first, last = min(first, segment.first), max(last, segment.last)
        if total * row_bytes > settings.max_blob:
            break
        small = total <= settings.small_rows
        long = 2 * (last - max(first, live_from)) > retained_span
        if not small and (long or segment.tier > tier(count)):
            if long and len(waiting) > 1:  # no more segments can be added: merge these
                chosen += waiting
            break
        waiting.append(segment)
        if small or len(waiting) >= settings.fan_in - 1:
            chosen += waiting
            waiting, count = [], total
    return chosen[::-1]


def is_mostly_removed(segment: Segment) -> bool:
    """Returns whether more rows of a segment are removed than live, so that rewriting it pays
    off."""
    return segment.removed > segment.live_rows


def split(rows: Rows, max_blob: int) -> Iterator[Rows]:
    """Splits rows by time into parts that fit into one value of the store."""
    parts = -(-size_of(rows.frame) // max_blob)
    if parts <= 1:
        yield rows
        return
    step = -(-len(rows) // parts)
    for start in range(0, len(rows), step):
        matched = None if rows.matched is None else rows.matched[start : start + step]
        yield Rows.of(rows.frame.slice(start, step), matched)
