"""The interval join as a definition: every left row is compared with every right row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.values import JoinType

Key = tuple[object, ...]
Bag = Counter[tuple[int | None, ...]]  # rows out, by their ids: (left, right), or (left,)


@dataclass(frozen=True)
class Row:
    id: int
    t: int
    key: Key
    x: float | None = None


@dataclass(frozen=True)
class Join:
    how: JoinType
    lower: int
    upper: int
    across: Callable[[Row, Row], bool] = lambda _left, _right: True
    retention: int | None = None

    def match(self, left: Row, right: Row) -> bool:
        return (
            None not in left.key
            and left.key == right.key
            and left.t + self.lower <= right.t <= left.t + self.upper
            and self.across(left, right)
        )

    @property
    def reach(self) -> tuple[int, int]:
        """How much later than a left row, and than a right row, its last match can be."""
        return self.upper, -self.lower

    @property
    def keeps(self) -> tuple[bool, bool]:
        return self.how.preserves_left, self.how.preserves_right


def final_rows(join: Join, lefts: Sequence[Row], rights: Sequence[Row]) -> Bag:
    """Returns the complete output at the end of both inputs, which does not depend on the order of
    arrival."""
    pairs = [(left, right) for left in lefts for right in rights if join.match(left, right)]
    matched_left = {left.id for left, _ in pairs}
    matched_right = {right.id for _, right in pairs}
    alone_left = [left.id for left in lefts if left.id not in matched_left]
    alone_right = [right.id for right in rights if right.id not in matched_right]
    if join.how is JoinType.SEMI:
        return Counter((id_,) for id_ in matched_left)
    if join.how is JoinType.ANTI:
        return Counter((id_,) for id_ in alone_left)
    out: Bag = Counter((left.id, right.id) for left, right in pairs)
    if join.how.preserves_left:
        out.update((id_, None) for id_ in alone_left)
    if join.how.preserves_right:
        out.update((None, id_) for id_ in alone_right)
    return out


@dataclass
class Stepwise:
    """The output of each batch. Rows are never dropped, only ignored once they have expired."""

    join: Join
    max_rows: int | None = None  # evict beyond it
    seen: tuple[list[Row], list[Row]] = field(default_factory=lambda: ([], []))
    late: tuple[list[Row], list[Row]] = field(default_factory=lambda: ([], []))
    matched: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    out_alone: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    evicted: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))

    def step(self, lefts: Iterable[Row], rights: Iterable[Row], advance: WatermarkAdvance) -> Bag:
        out: Bag = Counter()
        for side, rows in enumerate((lefts, rights)):
            self.late[side][:] = [row for row in rows if row.t < advance.before]
            new = [row for row in rows if row.t >= advance.before]
            for row in new:
                for other in self.seen[1 - side]:
                    if other.id not in self.evicted[1 - side]:
                        self._compare(*((row, other) if side == 0 else (other, row)), out)
            self.seen[side].extend(new)
        for side in (0, 1):
            for row in self.seen[side]:
                keyless = None in row.key
                if keyless or advance.after > row.t + self.join.reach[side]:
                    self._come_out_alone(side, row, out)
        self._evict(advance, out)
        return out

    def stored(self, side: int, advance: WatermarkAdvance) -> list[Row]:
        """Rows that a match may still come for, or that are stored longer by choice."""
        used = self.matched[0] if side == 0 and self.join.how.left_only else set[int]()
        reach, retention = self.join.reach[side], self.join.retention
        hold = reach if retention is None else max(reach, retention)
        return [
            row
            for row in self.seen[side]
            if None not in row.key
            and row.t + hold >= advance.after
            and row.id not in used
            and row.id not in self.evicted[side]
        ]

    def _compare(self, left: Row, right: Row, out: Bag) -> None:
        if not self.join.match(left, right):
            return
        first = left.id not in self.matched[0]
        self.matched[0].add(left.id)
        self.matched[1].add(right.id)
        if not self.join.how.left_only:
            out[left.id, right.id] += 1
        elif self.join.how is JoinType.SEMI and first:
            out[left.id,] += 1

    def _come_out_alone(self, side: int, row: Row, out: Bag) -> None:
        known = row.id in self.matched[side] or row.id in self.out_alone[side]
        if known or not self.join.keeps[side]:
            return
        self.out_alone[side].add(row.id)
        if self.join.how is JoinType.ANTI:
            out[row.id,] += 1
        else:
            out[(row.id, None) if side == 0 else (None, row.id)] += 1

    def _evict(self, advance: WatermarkAdvance, out: Bag) -> None:
        stored = [(row.t, side, row) for side in (0, 1) for row in self.stored(side, advance)]
        if self.max_rows is None or len(stored) <= self.max_rows:
            return
        oldest = sorted(stored, key=lambda item: item[0])[: len(stored) - self.max_rows]
        for _, side, row in oldest:
            self.evicted[side].add(row.id)
            self._come_out_alone(side, row, out)
