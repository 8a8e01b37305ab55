"""Forward and nearest search: rows match the first version at or after their time, or the nearer of
that one and the last one before.

    rows ──▶ fresh: wait until the watermark has passed them ──▶ search ──▶ output
                                                                  │  ▲
                 known: wait for a later version, or the time     ▼  │ a version of the key passes,
                        from which none can be nearer  ───────────┴──┘ or that time passes

A known row stores the version before it, so that this version need not stay in state. In state,
`_t` is the latest possible time of a later version, `_at` the row's own time. Only known rows are
found by key: the hashes of fresh rows are masked, so that rows of a hot key are not found in every
step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.frames import split, stack, take
from millstream.kernels.core.grouping import group
from millstream.kernels.core.hashing import NULL_HASH
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.specs import TemporalJoinSpec
from millstream.kernels.state.keyed_table import Table, TableSpec
from millstream.kernels.state.time_search import RowSet, VersionMatches, VersionSearch, gather
from millstream.kernels.temporal_join.output import Output
from millstream.kernels.temporal_join.versions import Versions
from millstream.temporal import END_OF_TIME
from millstream.values import Direction

ROW_TIME = "_at"  # a known row's own time; NULL for fresh rows
VERSION_TIME = "_near"  # the time of the version before a known row, if it is within the tolerance


class _DueRows(NamedTuple):
    """Rows that may be decided in this step."""

    rows: pl.DataFrame
    fresh: Bools
    at: Ints
    hashes: Ints


class Forward:
    """The strategy of the directions FORWARD and NEAREST."""

    def __init__(self, spec: TemporalJoinSpec, types: Mapping[str, Any]) -> None:
        assert spec.tolerance is not None  # plans without a tolerance are rejected
        self._tolerance = spec.tolerance
        self._nearest = spec.direction is Direction.NEAREST
        self._right = spec.right_columns
        self._keys = () if spec.key_is_hash else spec.left_keys
        self.table_spec = TableSpec(self._keys)
        self._nulls = [pl.Series(ROW_TIME, [None], pl.Int64)]
        self._carried: list[str] = []
        if self._nearest:
            self._nulls.append(pl.Series(VERSION_TIME, [None], pl.Int64))
            for number, name in enumerate(spec.right_columns):
                self._carried.append(f"_near{number}")
                self._nulls.append(pl.Series(self._carried[-1], [None], types[name]))

    def live_from(self, after: int) -> int:
        """Returns the time before which no waiting or future row needs a version."""
        return after - self._tolerance if self._nearest else after

    def expire_versions(self, versions: Versions, after: int) -> None:
        if self._nearest:
            versions.retain_valid(after, self.live_from(after))
        else:
            versions.retain_from(after)

    def emit_due(
        self, waiting: Table, versions: Versions, new: pl.DataFrame | None, after: int, out: Output
    ) -> None:
        """Emits stored and new rows whose match is decided; stores the others."""
        if not self._nearest:
            versions.drop_deletes()
        ready = [] if (due := waiting.take_before(after)) is None else [due]
        reached = self._take_reached(waiting, versions, after)
        if reached is not None:
            ready.append(reached)
        if new is not None:
            passed, early = split(self._to_fresh(new), new[TIME].to_numpy() < after)
            ready.append(passed)
            waiting.append(early, after)
        rows = stack(ready).rechunk() if ready else None
        if rows is not None and rows.height:
            known = self._decide(self._ready(rows), versions, after, out)
            if known is not None:
                waiting.append(known, after)

    def _to_fresh(self, rows: pl.DataFrame) -> pl.DataFrame:
        nulls = [one.new_from_index(0, rows.height) for one in self._nulls]
        names = [name for name in rows.columns if name not in {TIME, HASH}]
        veiled = pl.Series(HASH, rows[HASH].to_numpy() ^ NULL_HASH)
        return pl.DataFrame([*rows[:, names].get_columns(), *nulls, rows[TIME], veiled])

    def _ready(self, rows: pl.DataFrame) -> _DueRows:
        fresh = rows[ROW_TIME].is_null().to_numpy()
        hashes = rows[HASH].to_numpy()
        at = np.where(fresh, rows[TIME].to_numpy(), rows[ROW_TIME].fill_null(0).to_numpy())
        return _DueRows(rows, fresh, at, np.where(fresh, hashes ^ NULL_HASH, hashes))

    def _take_reached(self, waiting: Table, versions: Versions, after: int) -> pl.DataFrame | None:
        """Removes known rows for which a version has passed, and returns them.

        They match this version: it is nearer than the one before, otherwise they would have been
        due.
        """
        if not waiting.row_count:
            return None
        passed = versions.passed(versions.since, after)
        if passed is None:
            return None
        first = group(passed, versions.keys).first
        names = dict(zip(versions.keys, self._keys, strict=True))
        found = waiting.probe(take(passed, first).rename(names))
        if len(found):
            found = found.filter(found.rows([ROW_TIME])[ROW_TIME].is_not_null().to_numpy())
        if not len(found):
            return None
        waiting.remove(found)
        return found.rows()

    def _decide(
        self, ready: _DueRows, versions: Versions, after: int, out: Output
    ) -> pl.DataFrame | None:
        """Emits rows whose match is decided; returns the others."""
        rows, at = ready.rows, ready.at
        parts = versions.parts(self.live_from(int(at.min())), after - 1)
        ahead = VersionSearch(ready.hashes, at, rows[:, list(self._keys)]).first_after(
            parts, versions.keys, lambda part, numbers: ~versions.ends(part.rows, numbers)
        )
        ahead.clear_where((ahead.time >= after) | (ahead.time > at + self._tolerance))
        before, near = self._version_before(ready, parts, versions)
        gap = np.where(near == _NEVER, END_OF_TIME, at - near)
        last = at + np.minimum(gap - 1, self._tolerance)
        decided = ahead.found | (last < after)
        nearer = ahead.found & (ahead.time - at < gap)
        matched = before.replace_where(ahead, nearer)
        matched.clear_where(~decided)
        out.matched(rows, parts, matched)
        carried = decided & ~matched.found & (near != _NEVER)
        if carried.any():
            some = take(rows, np.flatnonzero(carried))
            pairs = zip(self._carried, self._right, strict=True)
            out.with_versions(some, [some[old].alias(new) for old, new in pairs])
        out.unmatched(rows, decided & ~matched.found & ~carried)
        if decided.all():
            return None
        return self._to_known(ready, ~decided, parts, before, last)

    def _version_before(
        self, ready: _DueRows, parts: list[RowSet], versions: Versions
    ) -> tuple[VersionMatches, Ints]:
        """Returns the version before each fresh row and its time; for known rows only the time."""
        matched = VersionMatches.nothing(ready.rows.height)
        if not self._nearest:
            return matched, np.full(ready.rows.height, _NEVER)
        who = np.flatnonzero(ready.fresh)
        if who.size:
            keys = take(ready.rows[:, list(self._keys)], who) if self._keys else pl.DataFrame()
            found = VersionSearch(ready.hashes[who], ready.at[who], keys).last_before(
                parts, versions.keys
            )
            versions.clear_ended(parts, found)
            found.clear_where(found.time < ready.at[who] - self._tolerance)
            matched.part[who], matched.number[who], matched.time[who] = (
                found.part,
                found.number,
                found.time,
            )
        near = ready.rows[VERSION_TIME].fill_null(_NEVER).to_numpy()
        return matched, np.where(matched.found, matched.time, near)

    def _to_known(
        self, ready: _DueRows, which: Bools, parts: list[RowSet], before: VersionMatches, last: Ints
    ) -> pl.DataFrame:
        rows = ready.rows.with_columns(
            pl.Series(ROW_TIME, ready.at), pl.Series(TIME, last), pl.Series(HASH, ready.hashes)
        )
        carrying = which & before.found
        frames = [rows.filter(which & ~before.found)]
        if carrying.any():
            matched = VersionMatches(before.part.copy(), before.number, before.time)
            matched.clear_where(~carrying)
            who, columns = gather(parts, matched, self._right)
            some = take(rows, who).with_columns(pl.Series(VERSION_TIME, before.time[who]))
            for name, column in zip(self._carried, columns, strict=True):
                some = some.with_columns(column.cast(rows.schema[name]).alias(name))
            frames.append(some)
        return stack(frames)


_NEVER = -END_OF_TIME - 1
