"""Processing time of a run: time source, and the messages that send it to queries.

Queries with idle timeouts or processing-time windows need the time while no rows arrive: an idle
source starts no micro-batch, so no operator would notice that it is idle. The time is a message of
the control stream. It is therefore in the offset log, and a retried batch reads the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.plan.facts.output_groups import query_operators, query_sources
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Query
from millstream.temporal import format_span

if TYPE_CHECKING:
    from millstream.run.job import JobRun

_STEP = 1_000_000  # microseconds; smaller differences are clock adjustments
_MIN_INTERVAL = 1_000_000  # microseconds


def wall_clock() -> int:
    return time.time_ns() // 1000


def monotonic_clock() -> int:
    return time.monotonic_ns() // 1000


@dataclass(slots=True)
class ProcessingClock:
    """Follows the system clock. While the system clock is behind an earlier reading, time advances
    with the monotonic clock. All times are in microseconds; `start` is the minimum."""

    wall: Callable[[], int] = wall_clock
    monotonic: Callable[[], int] = monotonic_clock
    start: int = 0
    _read: int = field(init=False)  # the last time, and the monotonic clock at that moment
    _at: int = field(init=False)
    _offset: int = field(init=False)  # system clock minus monotonic clock

    def __post_init__(self) -> None:
        wall, self._at = self.wall(), self.monotonic()
        self._read = max(wall, self.start)
        self._offset = max(wall, self.start) - self._at

    def now(self) -> int:
        at = self.monotonic()
        self._read = max(self.wall(), self._read + at - self._at)
        self._at = at
        return self._read

    def step_back(self) -> int | None:
        """Returns how far the system clock was set back since the last call, or None."""
        offset = self.wall() - self.monotonic()
        back = self._offset - offset
        if back < 0 or back >= _STEP:
            self._offset = offset
        return back if back >= _STEP else None


def processing_time_spans(query: Query) -> list[int]:
    """Returns the processing-time intervals of a query: idle timeouts and processing-time
    windows."""
    timeouts = [source.idle for source in query_sources(query) if source.idle is not None]
    windows = [
        window.size
        for operator in query_operators(query)
        if (window := kind_of(operator).window(operator)) and window.wall_clock
    ]
    return timeouts + windows


@dataclass(slots=True)
class ProcessingTimeSender:
    """Sends processing time to queries in intervals of the monotonic clock, so that setting the
    system clock neither stops nor adds messages."""

    run: JobRun
    clock: ProcessingClock
    _last: int = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.clock.monotonic()

    def send_if_due(self) -> None:
        """Sends processing time if the interval has passed."""
        if step := self.clock.step_back():
            self.run.warn(
                f"the system clock was set back by {format_span(step // 1000 * 1000)}. Processing "
                "time continues without the step."
            )
        now = self.clock.monotonic()
        interval = self._interval()
        if interval is not None and now - self._last >= interval:
            self._last = now
            self.run.send_processing_time(self.clock.now())

    def _interval(self) -> int | None:
        """The interval of messages: half the shortest timeout or window."""
        spans = [span for each in self.run.running for span in processing_time_spans(each.plan)]
        return max(min(spans) // 2, _MIN_INTERVAL) if spans else None
