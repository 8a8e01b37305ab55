"""The rows that a regular join holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np
import polars as pl

from millstream.errors import StateError
from millstream.kernels import limits
from millstream.kernels import rows as cache
from millstream.kernels.base import HASH, State
from millstream.kernels.index import Bools, Ints, KeyIndex
from millstream.kernels.manifest import Manifest, Segment
from millstream.kernels.matching import Partner
from millstream.kernels.merging import LogSettings
from millstream.kernels.regular_join_arrivals import Back, content_hash
from millstream.kernels.regular_join_sides import PARTNERS, Side
from millstream.kernels.rows import Rows, stack, take
from millstream.kernels.segments import SegmentLog
from millstream.kernels.top_n_ranking import places
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, StateLimit


class Found(NamedTuple):
    """Rows of a segment that are to be taken back: each, and which of the rows looked for it is."""

    segment: Segment
    rows: Rows
    numbers: Ints
    of: Ints


class Held:
    """Lives for one step. `counts` are the state's, and go with it."""

    def __init__(
        self,
        state: State,
        manifest: Manifest,
        sides: tuple[Side, Side],
        settings: LogSettings,
    ) -> None:
        self._meta = state.value("meta")
        self.manifest = manifest
        layouts = (sides[0].layout, sides[1].layout)
        self._log = SegmentLog(state.map("segments"), manifest, layouts, settings)
        self._sides = sides
        self._known = {segment.uid for segment in manifest.segments()}

    def partners(self, side: int) -> Iterator[Partner]:
        """All that a side holds."""
        yield from self._log.reaching(side, BEGIN_OF_TIME, END_OF_TIME)

    # --- rows that are taken back

    def find(self, side: Side, back: Back) -> list[Found]:
        """The held rows to take back: of equal ones the oldest, and of those of one time the ones
        with the fewest partners."""
        found = [part for part in self._equal(side, back.frame) if part.of.size]
        if not found:
            return []
        chosen = _chosen(found, back.copies)
        ends = np.cumsum([part.of.size for part in found])
        cut = np.split(chosen, ends[:-1])
        parts = [_only(part, flags) for part, flags in zip(found, cut, strict=True)]
        return [part for part in parts if part.of.size]

    def _equal(self, side: Side, frame: pl.DataFrame) -> Iterator[Found]:
        content = side.content(frame.columns)
        wanted = frame[:, content]
        by_key = KeyIndex.of(wanted[HASH].to_numpy(), np.zeros(frame.height, np.int64))
        by_content: KeyIndex | None = None
        for segment, rows in self._log.reaching(side.number, BEGIN_OF_TIME, END_OF_TIME):
            needles, hay = by_key, rows.index
            if _many_of_a_key(by_key, hay):
                if by_content is None:
                    by_content = KeyIndex.of(content_hash(wanted), by_key.times)
                needles, hay = by_content, _content_index(segment, rows, content)
            for of, numbers in needles.pairs(hay, BEGIN_OF_TIME, END_OF_TIME, skip=segment.skip):
                part = Found(segment, rows, numbers, of)
                if segment.gone and rows.matched is not None:
                    part = _only(part, ~rows.matched[numbers])
                if part.of.size:
                    yield _only(part, _same(wanted, rows.frame, part))

    def remove(self, side: int, segment: Segment, numbers: Ints) -> None:
        self._log.mark(side, segment, numbers)

    # --- rows that stay

    def mark(self, side: int, segment: Segment, numbers: Ints) -> Ints:
        """Marks rows as such that have a partner and gives those that had none."""
        return self._log.mark(side, segment, numbers)

    def keep(self, side: Side, parts: list[Rows], live_from: int) -> None:
        """Lets go of rows older than `live_from`; adds those of `parts` that are not."""
        self._log.expire(side.number, live_from)
        if not parts:
            return
        rows = parts[0]
        if len(parts) > 1:
            marks = [part.matched for part in parts if part.matched is not None]
            frame = stack([part.frame for part in parts]).rechunk()
            rows = Rows.of(frame, np.concatenate(marks) if marks else None)
        rows = rows.only(rows.rows_before(live_from))
        self._log.append(side.number, rows, live_from, tidy=side.layout.once)

    def evict(self, limit: StateLimit) -> None:
        try:
            for number, _, numbers in limits.enforce(self._log, limit):
                self.manifest.counts[f"{self._sides[number].name}.evicted"] += numbers.size
        except StateError as error:
            fix = error.fix.replace("narrow the join's time bound", "lower 'state.ttl'")
            raise StateError(error.code, error.cause, fix=fix) from None

    def close(self, watermark: int) -> None:
        """Writes what this step changed."""
        log, counts = self._log, self.manifest.counts
        log.drop_empty()
        for side in self._sides:
            if side.layout.once:
                log.tidy(side.number)
            held = sum(segment.held for segment in self.manifest.sides[side.number])
            gone = counts[f"{side.name}.accepted"] - counts[f"{side.name}.evicted"] - held
            counts[f"{side.name}.held"], counts[f"{side.name}.expired"] = held, gone
        rows = log.held_rows
        counts["state_rows"] = rows
        counts["state_bytes"] = log.held_bytes
        counts["segments"] = sum(map(len, self.manifest.sides))
        counts["peak_rows"] = max(counts["peak_rows"], rows)
        self.manifest.watermark = watermark
        log.flush()
        self._meta.put(self.manifest.dump())
        for uid in self._known - {segment.uid for segment in self.manifest.segments()}:
            cache.forget(_of_content(uid))


def partners_of(rows: Rows, numbers: Ints) -> Ints:
    """With how many partners rows were told, if that is held."""
    if PARTNERS not in rows.frame.columns:
        return np.zeros(numbers.size, np.int64)
    return rows.frame[PARTNERS].to_numpy()[numbers]


def _chosen(found: list[Found], copies: Ints) -> Bools:
    """Which go, of those that are equal to one looked for: no more than there are copies of it."""
    of = np.concatenate([part.of for part in found])
    chosen = np.ones(of.size, np.bool_)
    too_many = np.flatnonzero((np.bincount(of, minlength=copies.size) > copies)[of])
    if not too_many.size:
        return chosen
    times = np.concatenate([part.rows.times[part.numbers] for part in found])[too_many]
    partners = np.concatenate([partners_of(part.rows, part.numbers) for part in found])[too_many]
    order = too_many[np.lexsort((partners, times, of[too_many]))]
    place = places(of[order], np.ones(order.size, np.bool_))
    chosen[order[place > copies[of[order]]]] = False
    return chosen


def _many_of_a_key(needles: KeyIndex, hay: KeyIndex) -> bool:
    """Would a search by key meet many more rows than are looked for?"""
    start = np.searchsorted(hay.keys, needles.keys)
    stop = np.searchsorted(hay.keys, needles.keys, side="right")
    return int((stop - start).sum()) > 4 * len(needles) + 1024


def _of_content(uid: int) -> int:
    return -uid  # the segment's own name is never negative


def _content_index(segment: Segment, rows: Rows, content: list[str]) -> KeyIndex:
    found = cast("KeyIndex | None", cache.recall(_of_content(segment.uid)))
    if found is None:
        found = KeyIndex.of(content_hash(rows.frame[:, content]), rows.times)
        cache.remember(_of_content(segment.uid), found, found.nbytes)
    return found


def _same(wanted: pl.DataFrame, held: pl.DataFrame, part: Found) -> Bools:
    same = np.ones(part.of.size, np.bool_)
    mine, theirs = take(wanted, part.of), take(held[:, wanted.columns], part.numbers)
    for name in wanted.columns:
        same &= mine[name].eq_missing(theirs[name]).to_numpy()
    return same


def _only(part: Found, keep: Bools) -> Found:
    return part._replace(numbers=part.numbers[keep], of=part.of[keep])
