"""The event times of the streams in a FROM clause, and how far apart they can be in one row.

A join bounds the time of its right side by one of the left side's. With three streams and more the
bounds add up: if b is at most 1 h after a, and c at most 2 h after b, then c is at most 3 h after
a. So a join may go by a time that its own bound does not name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millstream.plan.kinds.open_bounds import NONE_APART, OpenBounds

WINDOW = -1  # the number that the window of a join goes by, beside those of the relations


@dataclass(frozen=True, slots=True)
class Times:
    """`columns` are event times by the number of their relation; `whole` are those that no row
    lacks. `apart` has time j - time i by (i, j), where both are there."""

    columns: Mapping[int, str] = field(default_factory=dict)
    whole: frozenset[int] = frozenset()
    apart: Mapping[tuple[int, int], OpenBounds] = field(default_factory=dict)

    def gap(self, one: int, other: int) -> OpenBounds:
        """How far the time of `other` is after that of `one`."""
        return NONE_APART if one == other else self.apart.get((one, other), OpenBounds())

    def after(self, one: int, links: Mapping[int, OpenBounds]) -> OpenBounds:
        """How far a new time is after that of `one`, if it is `links[k]` after each time k."""
        found = OpenBounds()
        for number, bounds in links.items():
            found &= self.gap(one, number) + bounds
        return found

    def plus(self, number: int, column: str, links: Mapping[int, OpenBounds]) -> Times:
        """With one time more, which no row lacks."""
        apart = dict(self.apart)
        for one in self.columns:
            found = self.after(one, links)
            apart[one, number], apart[number, one] = found, -found
        return Times({**self.columns, number: column}, self.whole | {number}, apart)

    def only(self, whole: Iterable[int]) -> Times:
        """With no other whole times than these."""
        return Times(self.columns, self.whole & frozenset(whole), self.apart)

    def near(self, number: int) -> Times:
        """With no other whole times than that one and those that keep to it."""
        return self.only(one for one in self.whole if self.gap(number, one).closed)

    def without(self, number: int) -> Times:
        columns = {one: name for one, name in self.columns.items() if one != number}
        apart = {pair: gap for pair, gap in self.apart.items() if number not in pair}
        return Times(columns, self.whole - {number}, apart)

    def is_time(self, origin: tuple[int, str] | None) -> bool:
        return origin is not None and self.columns.get(origin[0]) == origin[1]

    @property
    def in_order(self) -> list[int]:
        """The whole ones, in the order of FROM, a window last."""
        return sorted(self.whole, key=lambda number: (number < 0, number))
