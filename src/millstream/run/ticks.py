"""The time of day, told to pipelines that watch for silent sources or have windows of the clock.

A source that is silent makes no micro-batch, so nobody would notice its silence. The clock is told
through the control stream: it is in the offset log, and a retried batch hears the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from millstream.run.job import JobRun, clock_spans

_LEAST = 1_000_000  # a micro-batch a second is enough


def _wall_clock() -> int:
    return time.time_ns() // 1000


@dataclass(slots=True)
class Ticks:
    run: JobRun
    clock: Callable[[], int] = _wall_clock
    _last: int = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.clock()

    def beat(self) -> None:
        """Tell the time, if it is time to."""
        now = self.clock()
        every = self._every()
        if every is not None and now - self._last >= every:
            self._last = now
            self.run.tell_time(now)

    def _every(self) -> int | None:
        """What falls due is noticed within half its span."""
        spans = [span for each in self.run.running for span in clock_spans(each.pipeline)]
        return max(min(spans) // 2, _LEAST) if spans else None
