"""Processing time of a run: follows the system clock but never decreases."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_STEP = 1_000_000  # microseconds; smaller differences are clock adjustments


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
