"""What one step of a regular join does to the rows it holds, and what it gives.

L, R: what is held; L-, R-: what is taken back of it; L+, R+: what is new.

    pairs taken back   L- with R,  R- with (L less L-)
    pairs told         L+ with (R less R-) and R+,  R+ with (L less L-)

No pair is both. A row whose number of partners comes from or falls to nothing is told, or taken
back, as its side asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np
import polars as pl

from millstream.kernels.core.key_index import Ints
from millstream.kernels.interval_join.matching import Partner
from millstream.kernels.regular_join.buffer import Held
from millstream.kernels.regular_join.classify import Arrived
from millstream.kernels.regular_join.match_changes import Touched
from millstream.kernels.regular_join.matching import RegularMatcher
from millstream.kernels.regular_join.output import Out
from millstream.kernels.regular_join.retractions import Found, partners_of
from millstream.kernels.regular_join.sides import PARTNERS, Side
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import Rows, stack, take


class Step:
    def __init__(
        self, matcher: RegularMatcher, sides: tuple[Side, Side], held: Held, out: Out
    ) -> None:
        self._matcher, self._sides, self._held, self._out = matcher, sides, held, out
        self._counts = held.manifest.counts
        self._touched: tuple[dict[int, Touched], dict[int, Touched]] = ({}, {})
        self._new_partners: list[Ints | None] = [None, None]

    def run(self, arrived: tuple[Arrived, Arrived], live_from: int) -> None:
        going = [self._find(side, each) for side, each in zip(self._sides, arrived, strict=True)]
        for number, parts in enumerate(going):
            if parts:
                frame = stack([take(part.rows.frame, part.numbers) for part in parts]).rechunk()
                self._match(number, Rows.of(frame), self._held.partners(1 - number), told=False)
                for part in parts:
                    self._held.remove(number, part.segment, part.numbers)
        left, right = arrived[0].new, arrived[1].new
        for side, rows in zip(self._sides, (left, right), strict=True):
            if side.tracked and rows is not None:
                self._new_partners[side.number] = np.zeros(len(rows), np.int64)
        if left is not None:
            new: list[Partner] = [] if right is None else [(None, right)]
            self._match(0, left, chain(new, self._held.partners(1)), told=True)
        if right is not None:
            self._match(1, right, self._held.partners(0), told=True)
        for side in self._sides:
            self._settle(side, arrived[side.number], going[side.number], live_from)

    def _find(self, side: Side, arrived: Arrived) -> list[Found]:
        if arrived.back is None:
            return []
        found = self._held.find(side, arrived.back)
        missed = int(arrived.back.copies.sum()) - sum(part.of.size for part in found)
        self._counts[f"{side.name}.ignored"] += missed
        return found

    def _match(self, number: int, rows: Rows, partners: Iterable[Partner], *, told: bool) -> None:
        self._counts["lookups"] += len(rows)
        for matches in self._matcher.match(self._sides[number].plain, rows, partners):
            if matches.rows is not None:
                self._out.pairs(matches.rows, told=told)
            for pair in matches.found:
                if told:
                    self._count_new(number, pair.new)
                if pair.segment is None:
                    self._count_new(1 - number, pair.theirs)
                else:
                    self._touch(1 - number, pair.segment, pair.rows, pair.theirs, 1 if told else -1)

    def _count_new(self, number: int, rows: Ints) -> None:
        partners = self._new_partners[number]
        if partners is not None:
            partners += np.bincount(rows, minlength=partners.size)

    def _touch(self, number: int, segment: Segment, rows: Rows, numbers: Ints, by: int) -> None:
        if self._sides[number].tracked and numbers.size:
            every = self._touched[number]
            if segment.uid not in every:
                every[segment.uid] = Touched(segment, rows)
            every[segment.uid].add(numbers, by)

    def _settle(self, side: Side, arrived: Arrived, going: list[Found], live_from: int) -> None:
        """Tells what became of the rows of a side, and holds them."""
        kept: list[Rows] = []
        if side.tracked:
            for part in going:
                met = partners_of(part.rows, part.numbers) > 0
                self._out.rows(side, part.rows, part.numbers[met == side.told_if_met], told=False)
            for touched in self._touched[side.number].values():
                if side.counted:
                    kept += self._recount(side, touched)
                else:
                    numbers, _ = touched.sums()
                    fresh = self._held.mark(side.number, touched.segment, numbers)
                    self._out.rows(side, touched.rows, fresh, told=side.told_if_met)
        if arrived.new is not None:
            kept.append(self._settle_new(side, arrived.new))
        for frame, told in ((arrived.keyless_back, False), (arrived.keyless, True)):
            if frame is not None:
                self._out.frame(side, frame, told=told)
        self._held.keep(side, kept, live_from)

    def _recount(self, side: Side, touched: Touched) -> list[Rows]:
        """Rows whose number of partners changed, as they are to be held from now on."""
        rows = touched.rows
        numbers, change = touched.sums()
        assert rows.matched is not None
        there = ~rows.matched[numbers]  # some were taken back themselves
        numbers, change = numbers[there], change[there]
        old = partners_of(rows, numbers)
        new = old + change if side.exact else np.minimum(old + change, 1)
        changed = np.flatnonzero(new != old)
        if not changed.size:
            return []
        numbers, old, new = numbers[changed], old[changed], new[changed]
        self._out.rows(side, rows, numbers[(old > 0) & (new == 0)], told=not side.told_if_met)
        self._out.rows(side, rows, numbers[(old == 0) & (new > 0)], told=side.told_if_met)
        frame = take(rows.frame, numbers).with_columns(pl.Series(PARTNERS, new))
        self._held.remove(side.number, touched.segment, numbers)
        return [Rows.of(frame, np.zeros(numbers.size, np.bool_))]

    def _settle_new(self, side: Side, rows: Rows) -> Rows:
        partners = self._new_partners[side.number]
        if partners is None:
            return rows
        met = partners > 0
        self._out.rows(side, rows, np.flatnonzero(met == side.told_if_met), told=True)
        if side.counted:
            number = partners if side.exact else np.minimum(partners, 1)
            frame = rows.frame.with_columns(pl.Series(PARTNERS, number))
            return Rows(frame, rows.times, rows.matched, rows.index)
        if side.layout.once:
            return rows.only(0, met)
        return Rows(rows.frame, rows.times, met, rows.index)
