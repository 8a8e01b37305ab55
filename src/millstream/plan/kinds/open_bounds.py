"""Bounds of a difference of two times, either end of which may be unknown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenBounds:
    """Bounds in the making; None is an end not given."""

    lower: int | None = None
    upper: int | None = None

    @property
    def closed(self) -> bool:
        return self.lower is not None and self.upper is not None

    def __and__(self, other: OpenBounds) -> OpenBounds:
        lowers = [end for end in (self.lower, other.lower) if end is not None]
        uppers = [end for end in (self.upper, other.upper) if end is not None]
        return OpenBounds(max(lowers, default=None), min(uppers, default=None))

    def __add__(self, other: OpenBounds) -> OpenBounds:
        lower, upper = _sum(self.lower, other.lower), _sum(self.upper, other.upper)
        return OpenBounds(lower, upper)

    def __neg__(self) -> OpenBounds:
        lower = None if self.upper is None else -self.upper
        return OpenBounds(lower, None if self.lower is None else -self.lower)

    def __or__(self, other: OpenBounds) -> OpenBounds:
        """Bounds of what keeps to either."""
        lowers, uppers = (self.lower, other.lower), (self.upper, other.upper)
        return OpenBounds(
            None if None in lowers else min(end for end in lowers if end is not None),
            None if None in uppers else max(end for end in uppers if end is not None),
        )


NONE_APART = OpenBounds(0, 0)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
