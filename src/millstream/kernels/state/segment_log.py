"""The log of a key group's rows: immutable segments per table, merged in tiers, dropped by time.

A `SegmentLog` lives for one step. It changes the manifest and gathers what is to be written;
`flush` writes it in as few calls as it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import HASH, MapState
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.state import codec
from millstream.kernels.state import match_flags as marks
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.compaction import LogSettings, split, to_merge, wasteful
from millstream.kernels.state.manifest import Manifest, Segment, index_uid, new_uid
from millstream.kernels.state.pages import Pages
from millstream.kernels.state.sorted_rows import Rows, stack, take

NULL_HASH = 0x6D696C6C_73747265  # stands for the hash of a key that is NULL, where one is held


@dataclass(frozen=True, slots=True)
class Layout:
    """How one table's rows are stored."""

    hash_from: str | None = None  # the column that is the hash, which then is not kept twice
    marked: bool = False  # does each row remember whether it met a partner?
    once: bool = False  # is a row of no more use once it did?


class SegmentLog:
    def __init__(
        self,
        store: MapState,
        manifest: Manifest,
        layouts: Sequence[Layout],
        settings: LogSettings,
    ) -> None:
        self.manifest = manifest
        self._layouts = layouts
        self._settings = settings
        self._pages = Pages(store, manifest.pages())
        self._unwritten: dict[int, tuple[Rows, bytes]] = {}
        self._fresh_marks: dict[int, list[Ints]] = {}
        self._renamed: set[int] = set()
        cache.retain(manifest.owner, manifest.uids())

    # --- reading

    def rows(self, table: int, segment: Segment) -> Rows:
        """A segment's rows with their current marks."""
        if segment.uid in self._unwritten:
            return self._unwritten[segment.uid][0]
        found = cast("Rows | None", cache.recall(segment.uid))
        if found is None:
            found = self._load(table, segment)
            cache.remember(self.manifest.owner, segment.uid, found, found.nbytes)
        if self._layouts[table].marked and found.marks != segment.marks:
            found.matched = self._load_marks(segment, found)
            found.marks = segment.marks
        return found

    def held_numbers(self, table: int, segment: Segment) -> Ints:
        """The numbers of the rows that still count, oldest first."""
        numbers = np.arange(segment.skip, segment.rows)
        if not segment.gone:
            return numbers
        used = self.rows(table, segment).matched
        assert used is not None
        return numbers[~used[segment.skip :]]

    @property
    def held_rows(self) -> int:
        return sum(segment.held for segment in self.manifest.segments())

    @property
    def held_bytes(self) -> int:
        return sum(segment.held_bytes for segment in self.manifest.segments())

    def reaching(self, table: int, start: int, stop: int) -> Iterator[tuple[Segment, Rows]]:
        """Segments with rows whose time may lie in [start, stop]."""
        for segment in self.manifest.tables[table]:
            if segment.last >= start and segment.first <= stop:
                yield segment, self.rows(table, segment)

    def _load(self, table: int, segment: Segment) -> Rows:
        assert segment.ref is not None
        layout = self._layouts[table]
        frame = codec.decode(self._pages.read(segment.ref), segment.rows)
        own_marks = None
        if layout.marked:
            own_marks = _own_marks(frame)
            frame = frame.drop(marks.MATCHED)
        if layout.hash_from:  # last, as in the frame that was kept
            keys = frame[layout.hash_from].cast(pl.Int64).fill_null(NULL_HASH)
            frame = frame.with_columns(keys.alias(HASH))
        return Rows.of(frame, own_marks)

    def _load_marks(self, segment: Segment, found: Rows) -> Bools:
        if segment.bitmap:
            matched = marks.from_bitmap(self._pages.read(segment.bitmap), segment.rows)
        elif found.marks == 0 and found.matched is not None:
            matched = found.matched.copy()
        else:
            assert segment.ref is not None
            matched = _own_marks(codec.decode(self._pages.read(segment.ref), segment.rows))
        recent = self._recent().get(segment.uid)
        if recent is not None and segment.marks:
            matched[recent] = True
        return matched

    def _recent(self) -> marks.Recent:
        if self.manifest.recent is None:
            return {}
        uid, ref = self.manifest.recent
        found = cast("marks.Recent | None", cache.recall(uid))
        if found is None:
            found = marks.decode_recent(self._pages.read(ref))
            cache.remember(self.manifest.owner, uid, found, ref.size)
        return found

    # --- changing

    def mark(self, table: int, segment: Segment, rows: Ints) -> Ints:
        """Marks rows as matched and gives those that were not before."""
        found = self.rows(table, segment)
        assert found.matched is not None
        if segment.uid not in self._renamed:
            self._renamed.add(segment.uid)
            segment.marks = found.marks = new_uid()  # first, so that a failure leaves no trace
        fresh = marks.set_marks(found.matched, rows, self._layouts[table].once)
        if fresh.size:
            self._fresh_marks.setdefault(segment.uid, []).append(fresh)
            if self._layouts[table].once:
                segment.gone += fresh.size
        return fresh

    def skip_to(self, table: int, segment: Segment, row: int) -> int:
        """Lets go of the rows before `row`; gives how many were still held."""
        if row <= segment.skip:
            return 0
        held = segment.held
        if row >= segment.rows:
            segment.skip, segment.gone = segment.rows, 0
        else:
            if segment.gone:
                used = self.rows(table, segment).matched
                assert used is not None
                segment.gone -= int(np.count_nonzero(used[segment.skip : row]))
            segment.skip = row
            segment.first = int(self.rows(table, segment).times[row])
        return held - segment.held

    def expire(self, table: int, before: int) -> int:
        """Lets go of rows older than `before`; gives how many were still held."""
        expired = 0
        for segment in self.manifest.tables[table]:
            if segment.last < before:
                expired += self.skip_to(table, segment, segment.rows)
            elif segment.first < before:
                row = self.rows(table, segment).rows_before(before)
                expired += self.skip_to(table, segment, row)
        return expired

    def drop_empty(self) -> None:
        for table in self.manifest.tables:
            for segment in table:
                if segment.held == 0:
                    self._discard(segment)
            table[:] = [segment for segment in table if segment.held]

    def append(self, table: int, rows: Rows, live_from: int, tidy: bool = False) -> None:
        """Adds rows; small segments at the end of the log become one with them. If the log is to be
        `tidy`, so do those of which most is used up, wherever they are."""
        if not len(rows):
            return
        segments = self.manifest.tables[table]
        waste = [segment for segment in segments if wasteful(segment)] if tidy else []
        rest = [segment for segment in segments if not wasteful(segment)] if tidy else segments
        merged = [*waste, *to_merge(rest, rows, live_from, self._settings)]
        if merged:
            rows = self._joined(table, merged, rows)
        for part in split(rows, self._settings.max_blob):
            self._add(table, part)

    def tidy(self, table: int) -> None:
        """Writes segments anew of which most is used up. Their rows become one segment."""
        waste = [segment for segment in self.manifest.tables[table] if wasteful(segment)]
        if waste:
            for part in split(self._joined(table, waste), self._settings.max_blob):
                self._add(table, part)

    def _joined(self, table: int, merged: list[Segment], rows: Rows | None = None) -> Rows:
        """The rows that segments still hold, and then `rows`. The segments are no more."""
        parts = [self._live(table, segment) for segment in merged if segment.held]
        if rows is not None:
            parts.append((rows.frame, rows.matched))
        frame = stack([part for part, _ in parts]).rechunk()
        matched = [flags for _, flags in parts if flags is not None]
        for segment in merged:
            self._discard(segment)
        gone = {segment.uid for segment in merged}
        segments = self.manifest.tables[table]
        segments[:] = [segment for segment in segments if segment.uid not in gone]
        return Rows.of(frame, np.concatenate(matched) if matched else None)

    def _live(self, table: int, segment: Segment) -> tuple[pl.DataFrame, Bools | None]:
        rows = self.rows(table, segment)
        if segment.held == segment.rows:
            return rows.frame, rows.matched
        keep = np.ones(segment.rows, np.bool_)
        keep[: segment.skip] = False
        if segment.gone:
            assert rows.matched is not None
            keep &= ~rows.matched
        matched = None if rows.matched is None else rows.matched[keep]
        return take(rows.frame, np.flatnonzero(keep)), matched

    def _add(self, table: int, rows: Rows) -> None:
        layout = self._layouts[table]
        frame = rows.frame
        if layout.hash_from:
            frame = frame[:, [name for name in frame.columns if name != HASH]]
        if layout.marked:
            frame = frame.hstack([pl.Series(marks.MATCHED, rows.matched)])
        blob = codec.encode(frame)
        first, last = int(rows.times[0]), int(rows.times[-1])
        segment = Segment(new_uid(), None, len(rows), first, last, len(blob))
        self._unwritten[segment.uid] = (rows, blob)
        self.manifest.tables[table].append(segment)

    def _discard(self, segment: Segment) -> None:
        self._unwritten.pop(segment.uid, None)
        self._fresh_marks.pop(segment.uid, None)
        cache.forget(segment.uid)
        cache.forget(index_uid(segment.uid))

    # --- writing

    def flush(self) -> None:
        """Writes what is new. Small parts of all tables share a page, new bitmaps another."""
        small: list[tuple[Segment, bytes]] = []
        large: list[tuple[Segment, bytes]] = []
        room = self._settings.max_blob // 2
        for segment in self.manifest.segments():
            if segment.uid in self._unwritten:
                fits = segment.rows <= self._settings.small_rows and segment.size <= room
                room -= segment.size if fits else 0
                kind = small if fits else large
                kind.append((segment, self._unwritten[segment.uid][1]))
        bitmaps, recent = self._marks_to_write()
        shared = [blob for _, blob in small]
        if recent:
            shared.append(marks.encode_recent(recent))
        bundles = [shared, [blob for _, blob in bitmaps], *([blob] for _, blob in large)]
        written = iter(
            self._pages.write([parts for parts in bundles if parts], self.manifest.pages())
        )
        refs = [next(written) if parts else [] for parts in bundles]
        for (segment, _), ref in zip(small, refs[0], strict=False):
            segment.ref = ref
        for (segment, _), ref in zip(bitmaps, refs[1], strict=True):
            segment.bitmap = ref
        for (segment, _), (ref,) in zip(large, refs[2:], strict=True):
            segment.ref = ref
        if recent:
            self.manifest.recent = (new_uid(), refs[0][-1])
            cache.remember(self.manifest.owner, self.manifest.recent[0], recent, refs[0][-1].size)
        for uid, (rows, _) in self._unwritten.items():
            cache.remember(self.manifest.owner, uid, rows, rows.nbytes)

    def _marks_to_write(self) -> tuple[list[tuple[Segment, bytes]], marks.Recent]:
        """New bitmaps, and the recent marks if they are to be written anew."""
        if not self._fresh_marks:
            if not any(segment.marks for segment in self.manifest.segments()):
                self.manifest.recent = None
            return [], {}
        old, recent, live = self._recent(), {}, {}
        for table, segments in enumerate(self.manifest.tables):
            for segment in segments:
                fresh = self._fresh_marks.get(segment.uid, [])
                parts = [old[segment.uid]] if segment.uid in old else []
                parts += [rows.astype(np.uint32) for rows in fresh]
                if parts:
                    recent[segment.uid] = np.concatenate(parts)
                    live[segment.uid] = (table, segment)
        sizes = [(uid, len(rows), live[uid][1].rows) for uid, rows in recent.items()]
        bitmaps = []
        for uid in marks.worth_a_bitmap(sizes, self._settings.recent_bytes):
            table, segment = live[uid]
            matched = self.rows(table, segment).matched
            assert matched is not None
            bitmaps.append((segment, marks.to_bitmap(matched)))
            segment.bitmap = None  # its page is free to be written over
            del recent[uid]
        self.manifest.recent = None  # not before: a segment may have been read for its bitmap
        return bitmaps, recent


def _own_marks(frame: pl.DataFrame) -> Bools:
    return frame[marks.MATCHED].to_numpy().copy()
