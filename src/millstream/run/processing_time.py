"""Processing time of a run: the clock, and the messages that send it to queries.

Queries with idle timeouts or processing-time windows need the time while no rows arrive: an idle
source starts no micro-batch, so no operator would notice that it is idle. The time is a message of
the control stream. It is therefore in the offset log, and a retried batch reads the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.plan.facts.branches import query_operators, query_sources
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Query
from millstream.temporal import format_span

if TYPE_CHECKING:
    from millstream.run.job import JobRun

_STEP = 1_000_000  # microseconds; smaller differences are clock adjustments
_LEAST = 1_000_000  # a micro-batch a second is enough


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
    _read: int = field(init=False)  # the last reading, and the monotonic clock at it
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
    """The spans of wall-clock time that a query waits for: silences and windows of the clock."""
    silences = [source.idle for source in query_sources(query) if source.idle is not None]
    windows = [
        window.size
        for operator in query_operators(query)
        if (window := kind_of(operator).window(operator)) and window.wall_clock
    ]
    return silences + windows


@dataclass(slots=True)
class ProcessingTimeSender:
    """Ticks are timed by the monotonic clock, so that setting the system clock neither stops them
    nor adds more."""

    run: JobRun
    clock: ProcessingClock
    _last: int = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.clock.monotonic()

    def beat(self) -> None:
        """Send the time if it is due."""
        if step := self.clock.step_back():
            self.run.warn(
                f"the system clock was set back by {format_span(step // 1000 * 1000)}. Processing "
                "time continues without the step."
            )
        at = self.clock.monotonic()
        every = self._every()
        if every is not None and at - self._last >= every:
            self._last = at
            self.run.send_processing_time(self.clock.now())

    def _every(self) -> int | None:
        """Half the shortest timeout or window, so that it is noticed in time."""
        spans = [span for each in self.run.running for span in processing_time_spans(each.plan)]
        return max(min(spans) // 2, _LEAST) if spans else None
