"""The regular join as a definition: bags of rows, changed one row at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.values import JoinType

Key = tuple[str | None, int | None]
Weights = Counter[tuple[int | None, ...]]  # rows by their ids, (left, right) or (left,)


@dataclass(frozen=True)
class Row:
    id: int
    key: Key
    x: float | None = None


@dataclass(frozen=True)
class Change:
    """An insertion or a retraction of a row."""

    row: Row
    t: int = 0
    weight: int = 1


@dataclass(frozen=True)
class Join:
    how: JoinType
    ttl: int | None = None
    across: Callable[[Row, Row], bool] = lambda _left, _right: True

    def match(self, left: Row, right: Row) -> bool:
        return None not in left.key and left.key == right.key and self.across(left, right)

    @property
    def keeps(self) -> tuple[bool, bool]:
        return self.how.preserves_left, self.how.preserves_right

    def oldest(self, watermark: int) -> int | None:
        return None if self.ttl is None else watermark - self.ttl


def table(join: Join, lefts: Sequence[Row], rights: Sequence[Row]) -> Weights:
    """The join of two tables."""
    pairs = [(left, right) for left, right in product(lefts, rights) if join.match(left, right)]
    met_left = [any(join.match(left, right) for right in rights) for left in lefts]
    met_right = [any(join.match(left, right) for left in lefts) for right in rights]
    if join.how.left_only:
        wanted = join.how is JoinType.SEMI
        return Counter(
            (left.id,) for left, met in zip(lefts, met_left, strict=True) if met is wanted
        )
    out: Weights = Counter((left.id, right.id) for left, right in pairs)
    if join.how.preserves_left:
        out.update((left.id, None) for left, met in zip(lefts, met_left, strict=True) if not met)
    if join.how.preserves_right:
        out.update((None, row.id) for row, met in zip(rights, met_right, strict=True) if not met)
    return out


def left_over(changes: Iterable[Change]) -> list[Row]:
    """The rows that a stream of changes comes to."""
    rows: Counter[Row] = Counter()
    for change in changes:
        rows[change.row] += change.weight
    return list(rows.elements())


@dataclass
class StoredRow:
    row: Row
    t: int
    match_count: int = 0  # those that it was output with, whether or not they have expired


@dataclass
class Stepwise:
    """What every batch changes. Within it, equal rows that come and go are set off against each
    other, then rows are retracted one by one, then rows are added one by one."""

    join: Join
    max_rows: int | None = None  # evict beyond it
    stored: tuple[list[StoredRow], list[StoredRow]] = field(default_factory=lambda: ([], []))
    late: tuple[list[Change], list[Change]] = field(default_factory=lambda: ([], []))
    ignored: list[int] = field(default_factory=lambda: [0, 0])
    evicted: list[int] = field(default_factory=lambda: [0, 0])

    def step(
        self, lefts: Iterable[Change], rights: Iterable[Change], advance: WatermarkAdvance
    ) -> Weights:
        out: Weights = Counter()
        oldest = self.join.oldest(advance.before)
        added: list[list[StoredRow]] = []
        for side, changes in enumerate((lefts, rights)):
            self.late[side][:] = [c for c in changes if oldest is not None and c.t < oldest]
            in_time = [change for change in changes if change not in self.late[side]]
            plus, minus = _netted(in_time)
            for row, copies in minus.items():
                for _ in range(copies):
                    self._take_back(side, row, out)
            added.append([StoredRow(row, t) for row, times in plus.items() for t in times])
        for side, rows in enumerate(added):
            for retained in rows:
                self._add(side, retained, out)
        self._let_go(advance.after)
        return Counter({row: weight for row, weight in out.items() if weight})

    def _take_back(self, side: int, row: Row, out: Weights) -> None:
        if None in row.key:
            self._tell_alone(side, row, -1, out)
            return
        equal = [retained for retained in self.stored[side] if retained.row == row]
        if not equal:
            self.ignored[side] += 1
            return
        going = min(equal, key=lambda retained: (retained.t, retained.match_count))
        self.stored[side].remove(going)
        for other in self._partners(side, row):
            self._tell_pair(side, row, other.row, -1, out)
            self._change_partners(1 - side, other, -1, out)
        self._tell_row(side, going, -1, out)

    def _add(self, side: int, new: StoredRow, out: Weights) -> None:
        if None in new.row.key:
            self._tell_alone(side, new.row, 1, out)
            return
        for other in self._partners(side, new.row):
            self._tell_pair(side, new.row, other.row, 1, out)
            self._change_partners(1 - side, other, 1, out)
            new.match_count += 1
        self._tell_row(side, new, 1, out)
        self.stored[side].append(new)

    def _partners(self, side: int, row: Row) -> list[StoredRow]:
        def match(other: Row) -> bool:
            return self.join.match(row, other) if side == 0 else self.join.match(other, row)

        return [retained for retained in self.stored[1 - side] if match(retained.row)]

    def _change_partners(self, side: int, retained: StoredRow, by: int, out: Weights) -> None:
        self._tell_row(side, retained, -1, out)
        retained.match_count += by
        self._tell_row(side, retained, 1, out)

    def _tell_row(self, side: int, retained: StoredRow, weight: int, out: Weights) -> None:
        """A row on its own, if it is output as it is now."""
        if self.join.how is JoinType.SEMI and side == 0 and retained.match_count:
            out[retained.row.id,] += weight
        elif not retained.match_count:
            self._tell_alone(side, retained.row, weight, out)

    def _tell_alone(self, side: int, row: Row, weight: int, out: Weights) -> None:
        if not self.join.keeps[side]:
            return
        if self.join.how is JoinType.ANTI:
            out[row.id,] += weight
        else:
            out[(row.id, None) if side == 0 else (None, row.id)] += weight

    def _tell_pair(self, side: int, row: Row, other: Row, weight: int, out: Weights) -> None:
        if not self.join.how.left_only:
            out[(row.id, other.id) if side == 0 else (other.id, row.id)] += weight

    def _let_go(self, watermark: int) -> None:
        oldest = self.join.oldest(watermark)
        for side in (0, 1):
            self.stored[side][:] = [k for k in self.stored[side] if oldest is None or k.t >= oldest]
        every = [(retained.t, side, retained) for side in (0, 1) for retained in self.stored[side]]
        if self.max_rows is None or len(every) <= self.max_rows:
            return
        for _, side, retained in sorted(every, key=lambda one: one[0])[
            : len(every) - self.max_rows
        ]:
            self.stored[side].remove(retained)
            self.evicted[side] += 1


def _netted(changes: Iterable[Change]) -> tuple[dict[Row, list[int]], Counter[Row]]:
    """Of each row the times of those to add, the newest; and how many to retract."""
    plus: dict[Row, list[int]] = {}
    minus: Counter[Row] = Counter()
    for change in changes:
        if change.weight > 0:
            plus.setdefault(change.row, []).append(change.t)
        else:
            minus[change.row] += 1
    for row, times in plus.items():
        times.sort()
        gone = min(len(times), minus[row])
        del times[:gone]
        minus[row] -= gone
    return plus, minus
