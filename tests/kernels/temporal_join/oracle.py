"""The temporal join as a definition: every row looks at every version of its key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.values import Direction, JoinType

Key = tuple[str | None, int | None]
Bag = Counter[tuple[int, int | None]]  # rows out: the ids of a row and of the version it met


@dataclass(frozen=True)
class Row:
    """A row, or a version. One that `ends` ends the version of its key."""

    id: int
    t: int
    key: Key
    ends: bool | None = False


@dataclass(frozen=True)
class Join:
    how: JoinType = JoinType.INNER
    direction: Direction = Direction.BACKWARD
    tolerance: int | None = None

    def match_row(self, row: Row, versions: Sequence[Row]) -> Row | None:
        """`versions` in the order they arrived."""
        before, ahead = self.before(row, versions), self.ahead(row, versions)
        if self.direction is Direction.BACKWARD:
            return before
        if self.direction is Direction.FORWARD:
            return ahead
        if before is None or ahead is None:
            return before or ahead
        return before if row.t - before.t <= ahead.t - row.t else ahead

    def before(self, row: Row, versions: Sequence[Row]) -> Row | None:
        found = [version for version in _of_key(row.key, versions) if version.t <= row.t]
        if not found or found[-1].ends:
            return None
        return found[-1] if self._near(row, found[-1]) else None

    def ahead(self, row: Row, versions: Sequence[Row]) -> Row | None:
        found = [v for v in _of_key(row.key, versions) if v.t >= row.t and not v.ends]
        return found[0] if found and self._near(row, found[0]) else None

    def _near(self, row: Row, version: Row) -> bool:
        return self.tolerance is None or abs(row.t - version.t) <= self.tolerance

    def is_due(self, row: Row, versions: Sequence[Row], watermark: int) -> bool:
        """No version that may yet come, at the watermark or later, could change its match."""
        if None in row.key:
            return True
        if self.direction is Direction.BACKWARD:
            return watermark > row.t
        assert self.tolerance is not None
        ahead, before = self.ahead(row, versions), self.before(row, versions)
        if watermark > row.t + self.tolerance or (ahead and watermark > ahead.t):
            return True
        if self.direction is Direction.FORWARD or before is None:
            return False
        return watermark > row.t and watermark >= row.t + (row.t - before.t)

    def of_use(self, versions: Sequence[Row], watermark: int) -> list[Row]:
        """Versions that a row may meet that has not yet come."""
        useful: list[Row] = []
        for key in {version.key for version in versions if None not in version.key}:
            mine = _of_key(key, versions)
            later = [version for version in mine if version.t > watermark]
            now = [version for version in mine if version.t <= watermark][-1:]
            if self.direction is Direction.FORWARD:
                useful += [v for v in mine if v.t >= watermark and not v.ends]
            else:
                useful += [version for version in now if not version.ends] + later
        if self.tolerance is None:
            return useful
        return [version for version in useful if version.t >= watermark - self.tolerance]


def _of_key(key: Key, versions: Iterable[Row]) -> list[Row]:
    """The versions of a key by time; of those of one time the last to arrive."""
    by_time = {version.t: version for version in versions if version.key == key and None not in key}
    return [by_time[t] for t in sorted(by_time)]


def final_rows(join: Join, rows: Iterable[Row], versions: Sequence[Row]) -> Bag:
    """Returns the complete output at the end of both inputs."""
    out: Bag = Counter()
    for row in rows:
        match_row = join.match_row(row, versions)
        if match_row is not None or join.how is JoinType.LEFT:
            out[row.id, match_row.id if match_row else None] += 1
    return out


@dataclass
class Stepwise:
    """The output of each batch, and the state after it."""

    join: Join
    max_rows: int | None = None  # evict beyond it
    waiting: list[Row] = field(default_factory=list)
    versions: list[Row] = field(default_factory=list)
    late: tuple[list[Row], list[Row]] = ([], [])
    evicted: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))

    def step(self, rows: Iterable[Row], versions: Iterable[Row], advance: WatermarkAdvance) -> Bag:
        self.late = (
            [row for row in rows if row.t < advance.before],
            [version for version in versions if version.t < advance.before],
        )
        self.waiting += [row for row in rows if row.t >= advance.before]
        self.versions += [version for version in versions if version.t >= advance.before]
        due = [r for r in self.waiting if self.join.is_due(r, self.versions, advance.after)]
        self.waiting = [row for row in self.waiting if row not in due]
        out = final_rows(self.join, due, self.versions)
        if (
            self.join.direction is Direction.BACKWARD
        ):  # else a waiting row may need one no longer stored
            self.versions = self.join.of_use(self.versions, advance.after)
            self._evict(out)
        return out

    def _evict(self, out: Bag) -> None:
        stored = [(row.t, 0, row) for row in self.waiting] + [(v.t, 1, v) for v in self.versions]
        if self.max_rows is None or len(stored) <= self.max_rows:
            return
        for _, side, row in sorted(stored, key=lambda one: one[0])[: len(stored) - self.max_rows]:
            self.evicted[side].add(row.id)
            (self.waiting, self.versions)[side].remove(row)
            if side == 0:
                out.update(final_rows(self.join, [row], []))
