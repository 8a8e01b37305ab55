"""The segment log of a key group: immutable segments per table, merged in tiers, dropped by time.

A `SegmentLog` exists for one step. It changes the manifest and collects what must be written;
`flush` writes it in as few calls as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import polars as pl

from millstream.kernels.core.frames import stack, take
from millstream.kernels.core.hashing import NULL_HASH
from millstream.kernels.core.kernel import HASH, MapState
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.state import match_flags
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.compaction import (
    LogSettings,
    is_mostly_removed,
    segments_to_merge,
    split,
)
from millstream.kernels.state.manifest import Manifest, Segment, index_uid, new_uid
from millstream.kernels.state.pages import Pages, decode, encode
from millstream.kernels.state.sorted_rows import Rows


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rows of one table are stored."""

    hash_column: str | None = None  # equals the hash, which is then not stored as well
    has_match_flags: bool = False  # rows have match flags
    removes_matched: bool = False  # a row is removed at its first match


class SegmentLog:
    """Reads, appends, flags and expires rows of all tables of a key group."""

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
        self._new_flags: dict[int, list[Ints]] = {}
        self._reversioned: set[int] = set()
        cache.retain(manifest.owner, manifest.uids())

    # --- reading

    def rows(self, table: int, segment: Segment) -> Rows:
        """Returns a segment's rows with their current match flags."""
        if segment.uid in self._unwritten:
            return self._unwritten[segment.uid][0]
        found = cast("Rows | None", cache.get_cached(segment.uid))
        if found is None:
            found = self._load(table, segment)
            cache.put_cached(self.manifest.owner, segment.uid, found, found.nbytes)
        if self._layouts[table].has_match_flags and found.flags_version != segment.flags_version:
            found.matched = self._load_flags(segment, found)
            found.flags_version = segment.flags_version
        return found

    def live_numbers(self, table: int, segment: Segment) -> Ints:
        """Returns the numbers of the rows that are still in state, oldest first."""
        numbers = np.arange(segment.skip, segment.rows)
        if not segment.removed:
            return numbers
        removed_flags = self.rows(table, segment).matched
        assert removed_flags is not None
        return numbers[~removed_flags[segment.skip :]]

    @property
    def row_count(self) -> int:
        return sum(segment.live_rows for segment in self.manifest.segments())

    @property
    def byte_count(self) -> int:
        return sum(segment.live_bytes for segment in self.manifest.segments())

    def overlapping(self, table: int, start: int, stop: int) -> Iterator[tuple[Segment, Rows]]:
        """Yields segments with rows whose time may be in [start, stop]."""
        for segment in self.manifest.tables[table]:
            if segment.last >= start and segment.first <= stop:
                yield segment, self.rows(table, segment)

    def _load(self, table: int, segment: Segment) -> Rows:
        assert segment.ref is not None
        layout = self._layouts[table]
        frame = decode(self._pages.read(segment.ref), segment.rows)
        stored_flags = None
        if layout.has_match_flags:
            stored_flags = _flags_column(frame)
            frame = frame.drop(match_flags.MATCHED)
        if layout.hash_column:  # last, as in the frame that was written
            keys = frame[layout.hash_column].cast(pl.Int64).fill_null(NULL_HASH)
            frame = frame.with_columns(keys.alias(HASH))
        return Rows.of(frame, stored_flags)

    def _load_flags(self, segment: Segment, found: Rows) -> Bools:
        if segment.bitmap:
            matched = match_flags.from_bitmap(self._pages.read(segment.bitmap), segment.rows)
        elif found.flags_version == 0 and found.matched is not None:
            matched = found.matched.copy()
        else:
            assert segment.ref is not None
            matched = _flags_column(decode(self._pages.read(segment.ref), segment.rows))
        recent = self._recent().get(segment.uid)
        if recent is not None and segment.flags_version:
            matched[recent] = True
        return matched

    def _recent(self) -> match_flags.Recent:
        if self.manifest.recent is None:
            return {}
        uid, ref = self.manifest.recent
        found = cast("match_flags.Recent | None", cache.get_cached(uid))
        if found is None:
            found = match_flags.decode_recent(self._pages.read(ref))
            cache.put_cached(self.manifest.owner, uid, found, ref.size)
        return found

    # --- changing

    def set_flags(self, table: int, segment: Segment, rows: Ints) -> Ints:
        """Flags rows as matched; returns those that were not flagged before."""
        found = self.rows(table, segment)
        assert found.matched is not None
        if segment.uid not in self._reversioned:
            self._reversioned.add(segment.uid)
            segment.flags_version = found.flags_version = (
                new_uid()
            )  # before the change, so that a failure has no effect
        fresh = match_flags.set_flags(found.matched, rows, self._layouts[table].removes_matched)
        if fresh.size:
            self._new_flags.setdefault(segment.uid, []).append(fresh)
            if self._layouts[table].removes_matched:
                segment.removed += fresh.size
        return fresh

    def skip_to(self, table: int, segment: Segment, row: int) -> int:
        """Removes the rows before `row`; returns how many were live."""
        if row <= segment.skip:
            return 0
        stored = segment.live_rows
        if row >= segment.rows:
            segment.skip, segment.removed = segment.rows, 0
        else:
            if segment.removed:
                removed_flags = self.rows(table, segment).matched
                assert removed_flags is not None
                segment.removed -= int(np.count_nonzero(removed_flags[segment.skip : row]))
            segment.skip = row
            segment.first = int(self.rows(table, segment).times[row])
        return stored - segment.live_rows

    def expire(self, table: int, before: int) -> int:
        """Removes rows older than `before`; returns how many were live."""
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
                if segment.live_rows == 0:
                    self._discard(segment)
            table[:] = [segment for segment in table if segment.live_rows]

    def append(self, table: int, rows: Rows, live_from: int, tidy: bool = False) -> None:
        """Appends rows, merging them with small segments at the end of the log.

        With `tidy`, also merges segments anywhere in the log whose rows are mostly removed.
        """
        if not len(rows):
            return
        segments = self.manifest.tables[table]
        mostly_removed = (
            [segment for segment in segments if is_mostly_removed(segment)] if tidy else []
        )
        others = (
            [segment for segment in segments if not is_mostly_removed(segment)]
            if tidy
            else segments
        )
        merged = [*mostly_removed, *segments_to_merge(others, rows, live_from, self._settings)]
        if merged:
            rows = self._concatenate(table, merged, rows)
        for part in split(rows, self._settings.max_blob):
            self._add(table, part)

    def tidy(self, table: int) -> None:
        """Rewrites segments whose rows are mostly removed; their live rows become one segment."""
        mostly_removed = [
            segment for segment in self.manifest.tables[table] if is_mostly_removed(segment)
        ]
        if mostly_removed:
            for part in split(self._concatenate(table, mostly_removed), self._settings.max_blob):
                self._add(table, part)

    def _concatenate(self, table: int, merged: list[Segment], rows: Rows | None = None) -> Rows:
        """Concatenates the live rows of segments, then `rows`, and drops the segments."""
        parts = [self._live(table, segment) for segment in merged if segment.live_rows]
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
        if segment.live_rows == segment.rows:
            return rows.frame, rows.matched
        keep = np.ones(segment.rows, np.bool_)
        keep[: segment.skip] = False
        if segment.removed:
            assert rows.matched is not None
            keep &= ~rows.matched
        matched = None if rows.matched is None else rows.matched[keep]
        return take(rows.frame, np.flatnonzero(keep)), matched

    def _add(self, table: int, rows: Rows) -> None:
        layout = self._layouts[table]
        frame = rows.frame
        if layout.hash_column:
            frame = frame[:, [name for name in frame.columns if name != HASH]]
        if layout.has_match_flags:
            frame = frame.hstack([pl.Series(match_flags.MATCHED, rows.matched)])
        blob = encode(frame)
        first, last = int(rows.times[0]), int(rows.times[-1])
        segment = Segment(new_uid(), None, len(rows), first, last, len(blob))
        self._unwritten[segment.uid] = (rows, blob)
        self.manifest.tables[table].append(segment)

    def _discard(self, segment: Segment) -> None:
        self._unwritten.pop(segment.uid, None)
        self._new_flags.pop(segment.uid, None)
        cache.drop_cached(segment.uid)
        cache.drop_cached(index_uid(segment.uid))

    # --- writing

    def flush(self) -> None:
        """Writes new segments. Small ones of all tables share one page, new bitmaps another."""
        small: list[tuple[Segment, bytes]] = []
        large: list[tuple[Segment, bytes]] = []
        room_in_page = self._settings.max_blob // 2
        for segment in self.manifest.segments():
            if segment.uid in self._unwritten:
                fits = segment.rows <= self._settings.small_rows and segment.size <= room_in_page
                room_in_page -= segment.size if fits else 0
                kind = small if fits else large
                kind.append((segment, self._unwritten[segment.uid][1]))
        bitmaps, recent = self._flags_to_write()
        shared = [blob for _, blob in small]
        if recent:
            shared.append(match_flags.encode_recent(recent))
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
            cache.put_cached(self.manifest.owner, self.manifest.recent[0], recent, refs[0][-1].size)
        for uid, (rows, _) in self._unwritten.items():
            cache.put_cached(self.manifest.owner, uid, rows, rows.nbytes)

    def _flags_to_write(self) -> tuple[list[tuple[Segment, bytes]], match_flags.Recent]:
        """Returns new bitmaps, and the recent flags if they must be rewritten."""
        if not self._new_flags:
            if not any(segment.flags_version for segment in self.manifest.segments()):
                self.manifest.recent = None
            return [], {}
        old, recent, live = self._recent(), {}, {}
        for table, segments in enumerate(self.manifest.tables):
            for segment in segments:
                fresh = self._new_flags.get(segment.uid, [])
                parts = [old[segment.uid]] if segment.uid in old else []
                parts += [rows.astype(np.uint32) for rows in fresh]
                if parts:
                    recent[segment.uid] = np.concatenate(parts)
                    live[segment.uid] = (table, segment)
        sizes = [(uid, len(rows), live[uid][1].rows) for uid, rows in recent.items()]
        bitmaps = []
        for uid in match_flags.worth_a_bitmap(sizes, self._settings.recent_bytes):
            table, segment = live[uid]
            matched = self.rows(table, segment).matched
            assert matched is not None
            bitmaps.append((segment, match_flags.to_bitmap(matched)))
            segment.bitmap = None  # its page can be reused
            del recent[uid]
        self.manifest.recent = None  # only now: computing a bitmap may have read it
        return bitmaps, recent


def _flags_column(frame: pl.DataFrame) -> Bools:
    return frame[match_flags.MATCHED].to_numpy().copy()
