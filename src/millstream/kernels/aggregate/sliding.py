"""Sliding windows: state stores panes, and windows are assembled from them when they are
emitted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from millstream.kernels.aggregate.partial_results import group_columns
from millstream.kernels.aggregate.step import Step
from millstream.kernels.core.frames import filter_rows, stack
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.windows import assign_windows, window_reach
from millstream.kernels.session_chains import sort_by_key
from millstream.kernels.state.keyed_table import RowMatches
from millstream.temporal import END_OF_TIME, Emit, Window

_KEY, _END, _NEW, _PANE, _PLACE = "_key", "_end", "_new", "_pane", "_place"
MAX_PARTS = 8_000_000  # panes times windows that are assembled at a time


class SlidingStep(Step):
    """One step of an aggregate over sliding windows."""

    @property
    def window(self) -> Window:
        assert self.spec.window is not None
        return self.spec.window

    def update(self, new: pl.DataFrame | None) -> None:
        stay = None
        if new is not None and self._changes_results:
            stay = self._update_windows(new)
        elif new is not None:
            found = self.find(new)
            fresh, _, now = self.merge(new, found)
            self.groups.remove(found)
            stay = fresh.vstack(now[:, fresh.columns])
        if self.spec.emit is Emit.FINAL:
            self._emit_ended(stay)
        self._expire()
        if stay is not None:
            self.store(stay)

    @property
    def _changes_results(self) -> bool:
        """Whether a row may change the result of a window that was already emitted."""
        return self.spec.emit is Emit.CHANGES or self.spec.lateness > 0

    def _update_windows(self, new: pl.DataFrame) -> pl.DataFrame:
        """Emits the changes of windows that were already emitted; returns the merged new panes."""
        names = [HASH, *group_columns(self.spec)]
        keys = new.select(names).unique(maintain_order=True).with_row_index(_KEY)
        new = new.join(keys, on=names, nulls_equal=True, maintain_order="left")
        found = self.groups.probe(keys)
        stored = new.clear()
        if len(found):
            numbers = pl.Series(_KEY, found.new).cast(pl.UInt32)
            columns = [name for name in new.columns if name != _KEY]
            stored = found.rows(columns).with_columns(numbers)[:, new.columns]
        both = stored.with_columns(pl.lit(False).alias(_NEW)).vstack(
            new.with_columns(pl.lit(True).alias(_NEW))
        )
        store = [*(pl.col(name).first() for name in names), pl.col(_NEW).any()]
        panes = self.folding.merge(both, [_KEY, TIME], store, in_order=True)
        self._emit_changed_windows(new, stored, panes[:, new.columns])
        self._remove_changed(found, stored, new)
        stay = panes.filter(_NEW)
        return stay[:, [name for name in new.columns if name != _KEY]]

    def _remove_changed(self, found: RowMatches, stored: pl.DataFrame, new: pl.DataFrame) -> None:
        if stored.height:
            at = [_KEY, TIME]
            touched = stored.select(at).join(
                new.select(*at, pl.lit(True).alias(_NEW)), on=at, how="left", maintain_order="left"
            )
            self.groups.remove(found.filter(touched[_NEW].fill_null(False).to_numpy()))

    def _emit_changed_windows(
        self, new: pl.DataFrame, stored: pl.DataFrame, panes: pl.DataFrame
    ) -> None:
        final = self.spec.emit is Emit.FINAL
        start = self.times.before - self.spec.lateness
        stop = self.times.since if final else END_OF_TIME
        few, ends = assign_windows(new.select(_KEY, TIME), self.window, start, stop)
        touched = few.select(_KEY).with_columns(ends.alias(_END)).unique()
        if not touched.height:
            return
        at = [_KEY, TIME]
        old, now = (
            self._windows(some.sort(at), start, stop, touched).sort(at) for some in (stored, panes)
        )
        was = now.select(at).join(
            old.select(*at, pl.lit(True).alias(_NEW)), on=at, how="left", maintain_order="left"
        )
        known = was[_NEW].fill_null(False).to_numpy()
        self.results.change(old, filter_rows(now, known), if_equal=final)
        self.results.insert(filter_rows(now, ~known))

    def _windows(
        self, panes: pl.DataFrame, start: int, stop: int, touched: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        """Assembles windows whose last microsecond is in [start, stop), from panes sorted by key
        and time."""
        names = [_KEY, HASH, *group_columns(self.spec)]
        partials = panes.drop(names).with_row_index(_PANE)
        parts, ends = assign_windows(partials, self.window, start, stop)
        keys = panes[_KEY].gather(parts[_PANE])
        parts = parts.drop(TIME).with_columns(keys.alias(_KEY), ends.alias(_END))
        if touched is not None:
            parts = parts.join(touched, on=[_KEY, _END], how="semi", maintain_order="left")
        # One number for key and window: grouping by one integer is much faster than by two.
        times, slide = panes[TIME].to_numpy(), self.window.slide
        first = int(times.min()) if times.size else 0
        far = (int(times.max()) - first + self.window.size) // slide + 1 if times.size else 1
        place = pl.col(_KEY).cast(pl.Int64) * far + (pl.col(_END) - first) // slide
        store = [pl.col(_PANE).first(), pl.col(_END).first()]
        parts = parts.with_columns(place.alias(_PLACE)).drop(_KEY)
        made = self.folding.merge(parts, [_PLACE], store, in_order=True)
        of_pane = panes.select(names)[made[_PANE]]
        return made.drop(_PLACE, _PANE).rename({_END: TIME}).hstack(of_pane)

    def _emit_ended(self, stay: pl.DataFrame | None) -> None:
        """Emits windows that end in (since, after], from stored and new panes."""
        reach = window_reach(self.spec)
        # State that has not changed for a while does not record which windows have closed.
        since = max(self.times.since, self.times.before - self.spec.lateness)
        after = self.times.after
        stored = self.groups.scan(since - reach, after)
        frames = [stored] if stored is not None else []
        if stay is not None:
            times = stay[TIME].to_numpy()
            due = filter_rows(stay, (times >= since - reach) & (times < after))
            frames.append(due if stored is None else due[:, stored.columns])
        if not frames or not (panes := stack(frames)).height:
            return
        panes = sort_by_key(panes, group_columns(self.spec), _KEY)
        for start, stop in self._portions(panes, since, after):
            self.results.insert(self._windows(panes, start, stop))

    def _portions(self, panes: pl.DataFrame, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Splits a time span so that each part has at most MAX_PARTS panes in windows."""
        times = panes[TIME].to_numpy()
        slide, count = self.window.slide, self.window.size // self.window.slide
        start = max(start, int(times.min()))
        stop = min(stop, int(times.max()) + window_reach(self.spec) + 1)
        low = np.clip(-((times - start) // slide), 0, count)
        high = np.clip(-((times - stop) // slide), 0, count)
        if int((high - low).sum()) <= MAX_PARTS or stop - start <= slide:
            yield start, stop
            return
        middle = (start + stop) // 2
        yield from self._portions(panes, start, middle)
        yield from self._portions(panes, middle, stop)

    def _expire(self) -> None:
        removed = self.groups.take_before(self.times.live_from)
        if removed is not None:
            self.count_removed(removed)
