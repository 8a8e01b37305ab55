"""Limits of an operator's state: current usage, and eviction of the oldest rows.

A key group does not see the others. It applies the operator's limit to its own rows: if one group
exceeds it, so does the operator. The driver compares the sum of all groups with the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from millstream.errors import StateError
from millstream.kernels.core.key_index import Ints
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.segment_log import SegmentLog
from millstream.kernels.state.sorted_rows import Rows
from millstream.temporal import OnLimit, StateLimit

WARNING, CRITICAL = 0.80, 0.95  # of a limit


class Pressure(StrEnum):
    NORMAL = "normal"
    WARNING = "warning"
    CRITICAL = "critical"


def pressure(counts: Mapping[str, int], limit: StateLimit) -> Pressure:
    """Returns how near state is to its limit, by rows or bytes, whichever is nearer."""
    used = 0.0
    if limit.max_rows is not None:
        used = counts.get("state_rows", 0) / max(limit.max_rows, 1)
    if limit.max_bytes is not None:
        used = max(used, counts.get("state_bytes", 0) / max(limit.max_bytes, 1))
    if used >= CRITICAL:
        return Pressure.CRITICAL
    return Pressure.WARNING if used >= WARNING else Pressure.NORMAL


Evicted = tuple[int, Rows, Ints]  # table, rows of a segment, row numbers


def enforce(log: SegmentLog, limit: StateLimit) -> list[Evicted]:
    """Evicts the oldest rows if state exceeds its limit, or raises an error; returns the evicted
    rows."""
    evicted: list[Evicted] = []
    while excess := _excess_rows(log, limit):
        if limit.on_limit is OnLimit.FAIL:
            raise _limit_error(log, limit)
        evicted += _evict(log, excess)
        log.drop_empty()
    return evicted


def _excess_rows(log: SegmentLog, limit: StateLimit) -> int:
    rows, size = log.row_count, log.byte_count
    excess = 0 if limit.max_rows is None else rows - limit.max_rows
    if limit.max_bytes is not None and size > limit.max_bytes:
        excess = max(excess, -(-(size - limit.max_bytes) * rows // size))
    return max(excess, 0)


def _evict(log: SegmentLog, count: int) -> list[Evicted]:
    """Evicts the `count` oldest rows; rows of equal age in the order of the log."""
    stored: list[tuple[int, Segment, Ints]] = []
    for table, segments in enumerate(log.manifest.tables):
        for segment in segments:
            stored.append((table, segment, log.live_numbers(table, segment)[:count]))
    times = [log.rows(table, segment).times[numbers] for table, segment, numbers in stored]
    every = np.concatenate(times)
    last = int(np.partition(every, count - 1)[count - 1])
    ties = count - int(np.count_nonzero(every < last))
    evicted: list[Evicted] = []
    for (table, segment, numbers), ages in zip(stored, times, strict=True):
        older = int(np.searchsorted(ages, last))
        tied = min(ties, int(np.searchsorted(ages, last, side="right")) - older)
        ties -= tied
        evicting = numbers[: older + tied]
        if evicting.size:
            log.skip_to(table, segment, int(evicting[-1]) + 1)
            evicted.append((table, log.rows(table, segment), evicting))
    return evicted


def _limit_error(log: SegmentLog, limit: StateLimit) -> StateError:
    if limit.max_rows is not None and log.row_count > limit.max_rows:
        what, name = f"{log.row_count} rows; its limit is {limit.max_rows}", "state.max_rows"
    else:
        what, name = f"{log.byte_count} bytes; its limit is {limit.max_bytes}", "state.max_bytes"
    return StateError(
        "MS-STATE-LIMIT",
        f"one key group of the join has {what}.",
        fix=f"Raise '{name}', narrow the join's time bound, or set 'state.on_limit' = 'evict' to "
        "evict the oldest rows.",
    )
