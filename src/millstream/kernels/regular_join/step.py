"""One step of a regular join.

L, R: buffered rows; L-, R-: rows retracted from them; L+, R+: inserted rows.

    retracted pairs    L- with R,  R- with (L without L-)
    inserted pairs     L+ with (R without R-) and R+,  R+ with (L without L-)

No pair is in both. A row whose number of matches rises from 0 or falls to 0 is emitted or
retracted, depending on its side.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np
import polars as pl

from millstream.kernels.core.frames import stack, take
from millstream.kernels.core.key_index import Ints
from millstream.kernels.interval_join.matching import Candidate
from millstream.kernels.regular_join.buffer import Buffer
from millstream.kernels.regular_join.classify import ClassifiedRows
from millstream.kernels.regular_join.matching import RegularMatcher
from millstream.kernels.regular_join.output import Output
from millstream.kernels.regular_join.retractions import RowsToRetract, match_counts
from millstream.kernels.regular_join.sides import MATCH_COUNT, Side
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import Rows


class MatchCountChanges:
    """Changes of the match counts of one segment's rows.

    A hot key has more pairs than rows, so changes are summed as pairs are found.
    """

    def __init__(self, segment: Segment, rows: Rows) -> None:
        self.segment = segment
        self.rows = rows
        self._some: list[tuple[Ints, int]] = []
        self._all: Ints | None = None  # by row

    def add(self, numbers: Ints, by: int) -> None:
        """Adds `by` to the match counts of rows, which may repeat."""
        size = len(self.rows)
        if self._all is None and 16 * numbers.size <= size:
            self._some.append((numbers, by))
            return
        if self._all is None:
            self._all = np.zeros(size, np.int64)
        self._all += by * np.bincount(numbers, minlength=size)

    def sums(self) -> tuple[Ints, Ints]:
        """Returns each changed row once, and the change of its match count, which may be 0."""
        if self._all is not None:
            for numbers, by in self._some:
                np.add.at(self._all, numbers, by)
            rows = np.flatnonzero(self._all)
            return rows, self._all[rows]
        numbers = np.concatenate([some for some, _ in self._some])
        by_row = np.repeat([by for _, by in self._some], [some.size for some, _ in self._some])
        rows, of = np.unique(numbers, return_inverse=True)
        return rows, np.bincount(of, by_row, minlength=rows.size).astype(np.int64)


class Step:
    """Applies one batch to the buffered rows, and emits the changes of the result."""

    def __init__(
        self, matcher: RegularMatcher, sides: tuple[Side, Side], stored: Buffer, out: Output
    ) -> None:
        self._matcher, self._sides, self._buffer, self._out = matcher, sides, stored, out
        self._counts = stored.manifest.counts
        self._match_changes: tuple[dict[int, MatchCountChanges], dict[int, MatchCountChanges]] = (
            {},
            {},
        )
        self._new_match_counts: list[Ints | None] = [None, None]

    def run(self, classified: tuple[ClassifiedRows, ClassifiedRows], live_from: int) -> None:
        to_retract = [
            self._find(side, each) for side, each in zip(self._sides, classified, strict=True)
        ]
        for number, parts in enumerate(to_retract):
            if parts:
                frame = stack([take(part.rows.frame, part.numbers) for part in parts]).rechunk()
                self._match(
                    number, Rows.of(frame), self._buffer.candidates(1 - number), insert=False
                )
                for part in parts:
                    self._buffer.remove(number, part.segment, part.numbers)
        left, right = classified[0].new, classified[1].new
        for side, rows in zip(self._sides, (left, right), strict=True):
            if side.tracked and rows is not None:
                self._new_match_counts[side.number] = np.zeros(len(rows), np.int64)
        if left is not None:
            new: list[Candidate] = [] if right is None else [(None, right)]
            self._match(0, left, chain(new, self._buffer.candidates(1)), insert=True)
        if right is not None:
            self._match(1, right, self._buffer.candidates(0), insert=True)
        for side in self._sides:
            self._emit_and_store(side, classified[side.number], to_retract[side.number], live_from)

    def _find(self, side: Side, classified: ClassifiedRows) -> list[RowsToRetract]:
        if classified.retracted is None:
            return []
        found = self._buffer.find(side, classified.retracted)
        not_found = int(classified.retracted.copies.sum()) - sum(part.of.size for part in found)
        self._counts[f"{side.name}.ignored"] += not_found
        return found

    def _match(
        self, number: int, rows: Rows, candidates: Iterable[Candidate], *, insert: bool
    ) -> None:
        for matches in self._matcher.match(self._sides[number].base, rows, candidates):
            if matches.rows is not None:
                self._out.pairs(matches.rows, insert=insert)
            for pair in matches.found:
                if insert:
                    self._count_new(number, pair.new_numbers)
                if pair.segment is None:
                    self._count_new(1 - number, pair.other_numbers)
                else:
                    self._record_match_changes(
                        1 - number,
                        pair.segment,
                        pair.other,
                        pair.other_numbers,
                        1 if insert else -1,
                    )

    def _count_new(self, number: int, rows: Ints) -> None:
        candidates = self._new_match_counts[number]
        if candidates is not None:
            candidates += np.bincount(rows, minlength=candidates.size)

    def _record_match_changes(
        self, number: int, segment: Segment, rows: Rows, numbers: Ints, by: int
    ) -> None:
        if self._sides[number].tracked and numbers.size:
            every = self._match_changes[number]
            if segment.uid not in every:
                every[segment.uid] = MatchCountChanges(segment, rows)
            every[segment.uid].add(numbers, by)

    def _emit_and_store(
        self,
        side: Side,
        classified: ClassifiedRows,
        to_retract: list[RowsToRetract],
        live_from: int,
    ) -> None:
        """Emits the changes of a side's rows, and stores the new rows."""
        to_store: list[Rows] = []
        if side.tracked:
            for part in to_retract:
                has_match = match_counts(part.rows, part.numbers) > 0
                self._out.rows(
                    side, part.rows, part.numbers[has_match == side.emits_matched], insert=False
                )
            for changes in self._match_changes[side.number].values():
                if side.counted:
                    to_store += self._update_match_counts(side, changes)
                else:
                    numbers, _ = changes.sums()
                    fresh = self._buffer.set_flags(side.number, changes.segment, numbers)
                    self._out.rows(side, changes.rows, fresh, insert=side.emits_matched)
        if classified.new is not None:
            to_store.append(self._emit_new(side, classified.new))
        for frame, insert in ((classified.keyless_retracted, False), (classified.keyless, True)):
            if frame is not None:
                self._out.frame(side, frame, insert=insert)
        self._buffer.keep(side, to_store, live_from)

    def _update_match_counts(self, side: Side, changes: MatchCountChanges) -> list[Rows]:
        """Emits rows by their changed match counts, and returns them with the new counts."""
        rows = changes.rows
        numbers, change = changes.sums()
        assert rows.matched is not None
        still_stored = ~rows.matched[numbers]  # some rows were retracted themselves
        numbers, change = numbers[still_stored], change[still_stored]
        expired_rows = match_counts(rows, numbers)
        new = expired_rows + change if side.exact else np.minimum(expired_rows + change, 1)
        changed = np.flatnonzero(new != expired_rows)
        if not changed.size:
            return []
        numbers, expired_rows, new = numbers[changed], expired_rows[changed], new[changed]
        self._out.rows(
            side, rows, numbers[(expired_rows > 0) & (new == 0)], insert=not side.emits_matched
        )
        self._out.rows(
            side, rows, numbers[(expired_rows == 0) & (new > 0)], insert=side.emits_matched
        )
        frame = take(rows.frame, numbers).with_columns(pl.Series(MATCH_COUNT, new))
        self._buffer.remove(side.number, changes.segment, numbers)
        return [Rows.of(frame, np.zeros(numbers.size, np.bool_))]

    def _emit_new(self, side: Side, rows: Rows) -> Rows:
        candidates = self._new_match_counts[side.number]
        if candidates is None:
            return rows
        has_match = candidates > 0
        self._out.rows(side, rows, np.flatnonzero(has_match == side.emits_matched), insert=True)
        if side.counted:
            number = candidates if side.exact else np.minimum(candidates, 1)
            frame = rows.frame.with_columns(pl.Series(MATCH_COUNT, number))
            return Rows(frame, rows.times, rows.matched, rows.index)
        if side.layout.removes_matched:
            return rows.select(0, has_match)
        return Rows(rows.frame, rows.times, has_match, rows.index)
