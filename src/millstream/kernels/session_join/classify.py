"""Classification of the rows of one side: late rows, rows without a key, and chains of the others.

A row is late if it could only be part of closed sessions: the chain of new rows that it belongs to
ended too long ago and adjoins no open session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.frames import single_chunk, take, with_columns
from millstream.kernels.core.grouping import index_by_key
from millstream.kernels.core.kernel import HASH, LATENESS, TIME
from millstream.kernels.core.key_index import Bools, Ints, time_order
from millstream.kernels.session_join.session_rows import NewRows
from millstream.kernels.session_join.sessions import FIRST_NEW_ROW, NEW_ROW_COUNT, Sessions
from millstream.kernels.session_join.state import MATCH_START, ROW_COUNT, START
from millstream.temporal import LateAction, LatePolicy


@dataclass(slots=True)
class ClassifiedRows:
    """The rows of one input in one step."""

    new: NewRows | None = None
    fragments: pl.DataFrame | None = None  # chains of new rows, as sessions
    keyless: pl.DataFrame | None = None
    late: pl.DataFrame | None = None  # with all columns and the lateness
    reassigned: int = 0


@dataclass(frozen=True, slots=True)
class Classifier:
    """Classifies the rows of one side, in one step."""

    gap: int
    before: int  # the watermark
    open_from: int  # sessions that ended before it are closed
    policy: LatePolicy
    keys: tuple[str, ...]  # to compare
    columns: Sequence[str]  # to store

    def classify(self, frame: pl.DataFrame, sessions: Sessions) -> ClassifiedRows:
        classified = ClassifiedRows()
        if int(frame[TIME].to_numpy().min()) + self.gap < self.open_from:
            frame = self._without_late(frame, sessions, classified)
        frame = single_chunk(frame[:, list(self.columns)])
        if frame[HASH].null_count():
            keyless = frame[HASH].is_null().to_numpy()
            classified.keyless = take(frame, np.flatnonzero(keyless))
            frame = take(frame, np.flatnonzero(~keyless))
        if frame.height:
            classified.fragments, order = self._chained(frame, sessions.keys)
            # A stored row belongs to the session that contains its time. Closed sessions end before
            # `oldest`, so older rows get this time and cannot belong to them.
            oldest = self.open_from - self.gap
            if int(frame[TIME].to_numpy().min()) < oldest:
                frame = with_columns(frame, frame[TIME].clip(lower_bound=oldest))
            classified.new = NewRows(frame, order)
        return classified

    def _chained(self, frame: pl.DataFrame, names: Sequence[str]) -> tuple[pl.DataFrame, Ints]:
        """Returns chains of rows as sessions with keys named `names`, and row numbers by key and
        time."""
        times = frame[TIME].to_numpy()
        choose_sessions = time_order(times)
        slim = pl.DataFrame(
            [
                *(frame[key].alias(name) for key, name in zip(self.keys, names, strict=True)),
                frame[HASH],
            ]
        )
        if choose_sessions is not None:
            slim, times = take(slim, choose_sessions), times[choose_sessions]
        index = index_by_key(slim, names, times)
        times = times[index.order]
        breaks = np.ones(times.size, np.bool_)
        breaks[1:] = times[1:] - times[:-1] > self.gap
        breaks[index.run_starts] = True
        at = np.flatnonzero(breaks)
        stop = np.append(at[1:], times.size)
        first, head = times[at], take(slim, index.order[at])
        fragments = pl.DataFrame(
            [
                *head[:, list(names)],
                pl.Series(START, first),
                pl.Series(MATCH_START, np.maximum(first, self.open_from - self.gap)),
                pl.Series(ROW_COUNT, np.zeros(at.size, np.int64)),
                pl.Series(TIME, times[stop - 1] + self.gap),
                head[HASH],
                pl.Series(FIRST_NEW_ROW, at),
                pl.Series(NEW_ROW_COUNT, stop - at),
            ]
        )
        return fragments, index.order if choose_sessions is None else choose_sessions[index.order]

    def _without_late(
        self, frame: pl.DataFrame, sessions: Sessions, classified: ClassifiedRows
    ) -> pl.DataFrame:
        late = self._late(frame, sessions)
        if self.policy.action is LateAction.REASSIGN and late.any():
            times = frame[TIME].to_numpy()
            reassigned = late & (self.before - times <= self.policy.budget)
            classified.reassigned = int(np.count_nonzero(reassigned))
            times = np.where(reassigned, self.before, times)
            frame = with_columns(frame, pl.Series(TIME, times))
            late &= ~reassigned
        if not late.any():
            return frame
        removed = take(frame, np.flatnonzero(late))
        lateness = pl.Series(LATENESS, self.before - removed[TIME].to_numpy())
        classified.late = with_columns(removed, lateness)
        return take(frame, np.flatnonzero(~late))

    def _late(self, frame: pl.DataFrame, sessions: Sessions) -> Bools:
        late = frame[TIME].to_numpy() + self.gap < self.open_from
        keyed = np.flatnonzero(frame[HASH].is_not_null().to_numpy())
        if keyed.size:
            fragments, order = self._chained(take(frame, keyed), sessions.keys)
            removed = fragments[TIME].to_numpy() < self.open_from
            removed[sessions.adjoining(fragments, self.open_from)[0]] = False
            late[keyed[order]] = np.repeat(removed, fragments[NEW_ROW_COUNT].to_numpy())
        return late
