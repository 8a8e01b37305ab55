"""Bounds of the difference of two times; either end may be unknown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """A range of time differences in microseconds; None is an unknown end."""

    lower: int | None = None
    upper: int | None = None

    @property
    def is_closed(self) -> bool:
        return self.lower is not None and self.upper is not None

    def __and__(self, other: TimeBounds) -> TimeBounds:
        lowers = [end for end in (self.lower, other.lower) if end is not None]
        uppers = [end for end in (self.upper, other.upper) if end is not None]
        return TimeBounds(max(lowers, default=None), min(uppers, default=None))

    def __add__(self, other: TimeBounds) -> TimeBounds:
        lower, upper = _sum(self.lower, other.lower), _sum(self.upper, other.upper)
        return TimeBounds(lower, upper)

    def __neg__(self) -> TimeBounds:
        lower = None if self.upper is None else -self.upper
        return TimeBounds(lower, None if self.lower is None else -self.lower)

    def __or__(self, other: TimeBounds) -> TimeBounds:
        """Returns bounds that contain both."""
        lowers, uppers = (self.lower, other.lower), (self.upper, other.upper)
        return TimeBounds(
            None if None in lowers else min(end for end in lowers if end is not None),
            None if None in uppers else max(end for end in uppers if end is not None),
        )


ZERO_BOUNDS = TimeBounds(0, 0)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
