"""Sends processing time to queries with idle timeouts or processing-time windows.

An idle source makes no micro-batch, so no operator would notice that it is idle. The time is a
message of the control stream: it is in the offset log, and a retried batch reads the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.run.job import JobRun, clock_spans
from millstream.run.processing_clock import ProcessingClock
from millstream.temporal import format_span

_LEAST = 1_000_000  # a micro-batch a second is enough


@dataclass(slots=True)
class Ticks:
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
            self.run.tell_time(self.clock.now())

    def _every(self) -> int | None:
        """Half the shortest timeout or window, so that it is noticed in time."""
        spans = [span for each in self.run.running for span in clock_spans(each.plan)]
        return max(min(spans) // 2, _LEAST) if spans else None
