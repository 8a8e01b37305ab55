"""Which segments become one: sizes grow in tiers, so few live; spans stay short, so they can go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.kernels.state.codec import size_of
from millstream.kernels.state.manifest import Segment, tier
from millstream.kernels.state.sorted_rows import Rows


@dataclass(frozen=True, slots=True)
class LogSettings:
    max_blob: int = 32 << 20  # bytes of one value in the store, were it not compressed
    small_rows: int = 2048  # a segment below it is rewritten with every addition
    fan_in: int = 4  # segments of a tier that become one
    recent_bytes: int = 16 << 10  # of marks kept as row numbers; beyond it they become bitmaps


def to_merge(
    segments: Sequence[Segment], rows: Rows, live_from: int, settings: LogSettings
) -> list[Segment]:
    """The last segments that new rows should be merged with.

    A segment is dropped when its last row is of no more use, so a merged one may span at most half
    of the time that is held: from `live_from` to the newest row.
    """
    count, first, last = len(rows), int(rows.times[0]), int(rows.times[-1])
    row_bytes = size_of(rows.frame) / count
    held_span = max([last, *(segment.last for segment in segments)]) - live_from
    chosen: list[Segment] = []
    waiting: list[Segment] = []
    total = count
    for segment in reversed(segments):
        total += segment.held
        first, last = min(first, segment.first), max(last, segment.last)
        if total * row_bytes > settings.max_blob:
            break
        small = total <= settings.small_rows
        long = 2 * (last - max(first, live_from)) > held_span
        if not small and (long or segment.tier > tier(count)):
            if long and len(waiting) > 1:  # they won't be joined by more: merge what there is
                chosen += waiting
            break
        waiting.append(segment)
        if small or len(waiting) >= settings.fan_in - 1:
            chosen += waiting
            waiting, count = [], total
    return chosen[::-1]


def wasteful(segment: Segment) -> bool:
    """Are more of its rows used up than held? To write the others anew is then paid for by them."""
    return segment.gone > segment.held


def split(rows: Rows, max_blob: int) -> Iterator[Rows]:
    """The same rows as sets that fit a blob, cut by time."""
    parts = -(-size_of(rows.frame) // max_blob)
    if parts <= 1:
        yield rows
        return
    step = -(-len(rows) // parts)
    for start in range(0, len(rows), step):
        matched = None if rows.matched is None else rows.matched[start : start + step]
        yield Rows.of(rows.frame.slice(start, step), matched)
