"""The event times of the streams in a FROM clause, and the distances between them in one row.

A join bounds the time of its right side by a time of its left side. The bounds of several joins
are transitive: if b is at most 1 h after a, and c at most 2 h after b, then c is at most 3 h after
a. So a join can use an event time that its own bound does not name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millstream.plan.kinds.time_bounds import ZERO_BOUNDS, TimeBounds

WINDOW = -1  # the number of a join's window, next to those of relations


@dataclass(frozen=True, slots=True)
class EventTimes:
    """Event times by the number of their relation.

    `non_null` are those that are never NULL. `distances` has the bounds of time j - time i by
    (i, j), in rows that have both."""

    columns: Mapping[int, str] = field(default_factory=dict)
    non_null: frozenset[int] = frozenset()
    distances: Mapping[tuple[int, int], TimeBounds] = field(default_factory=dict)

    def distance(self, one: int, other: int) -> TimeBounds:
        """Returns the bounds of the time of `other` minus that of `one`."""
        return ZERO_BOUNDS if one == other else self.distances.get((one, other), TimeBounds())

    def distance_to_new_time(self, one: int, links: Mapping[int, TimeBounds]) -> TimeBounds:
        """Returns the bounds of a new time minus `one`; `links[k]` bounds it minus time k."""
        found = TimeBounds()
        for number, bounds in links.items():
            found &= self.distance(one, number) + bounds
        return found

    def with_time(self, number: int, column: str, links: Mapping[int, TimeBounds]) -> EventTimes:
        """Returns a copy with another time, which is never NULL."""
        distances = dict(self.distances)
        for one in self.columns:
            found = self.distance_to_new_time(one, links)
            distances[one, number], distances[number, one] = found, -found
        return EventTimes({**self.columns, number: column}, self.non_null | {number}, distances)

    def restrict_non_null(self, non_null: Iterable[int]) -> EventTimes:
        """Returns a copy in which only some of the times are never NULL."""
        return EventTimes(self.columns, self.non_null & frozenset(non_null), self.distances)

    def within_distance_of(self, number: int) -> EventTimes:
        """Restricts `non_null` to the times with a closed distance to one of them."""
        return self.restrict_non_null(
            one for one in self.non_null if self.distance(number, one).is_closed
        )

    def without_time(self, number: int) -> EventTimes:
        columns = {one: name for one, name in self.columns.items() if one != number}
        distances = {pair: gap for pair, gap in self.distances.items() if number not in pair}
        return EventTimes(columns, self.non_null - {number}, distances)

    def is_time(self, origin: tuple[int, str] | None) -> bool:
        return origin is not None and self.columns.get(origin[0]) == origin[1]

    @property
    def in_order(self) -> list[int]:
        """The times that are never NULL in the order of FROM, a window last."""
        return sorted(self.non_null, key=lambda number: (number < 0, number))
