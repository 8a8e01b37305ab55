"""Output as soon as two sessions overlap: EMIT CHANGES.

A pair of rows was emitted before if both rows were stored and their sessions overlapped at that
time. So sessions of this step are split into parts: the stored sessions they were merged from, and
new rows.

    left    ├─ stored ─┤ new ├─ stored ─┤          every part of one with every part of the other,
    right          ├─ stored ─┤ new                except for two stored parts that overlap
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.frames import stack_rechunked, take, with_columns
from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Bools, Ints, Pairs
from millstream.kernels.session_join.output import Output, Windows, cross
from millstream.kernels.session_join.session_rows import Ranges, RowsBySession
from millstream.kernels.session_join.sessions import without_rows
from millstream.kernels.session_join.side import Side
from millstream.kernels.session_join.state import MATCH_START, ROW_COUNT


def new_session_pairs(left: Side, right: Side) -> Pairs:
    """Returns overlapping sessions (left, right) of which at least one was created or grew in this
    step."""
    own_rows, other_rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    if left.sessions.fresh is not None:
        sessions_found, ids = right.sessions.overlapping(left.sessions.fresh.frame)
        own_rows.append(left.sessions.base + sessions_found)
        other_rows.append(ids)
    if right.sessions.fresh is not None:
        sessions_found, ids = left.sessions.overlapping(right.sessions.fresh.frame, fresh=False)
        own_rows.append(ids)
        other_rows.append(right.sessions.base + sessions_found)
    return np.concatenate(own_rows), np.concatenate(other_rows)


def emit_new_pairs(left: Side, right: Side, out: Output) -> None:
    """Emits pairs of rows of overlapping sessions that were not emitted before."""
    own_rows, other_rows = new_session_pairs(left, right)
    if not own_rows.size:
        return
    windows = enclosing_windows(left.windows(own_rows), right.windows(other_rows))
    here, there = _Parts.of(left, own_rows), _Parts.of(right, other_rows)
    owners = here.place(own_rows), there.place(other_rows)
    for some in cross(here.ranges, there.ranges, *owners):
        pair, one, two = some.all()
        to_emit = here.stored[one] & there.stored[two]
        to_emit &= (here.low[one] <= there.end[two]) & (there.low[two] <= here.end[one])
        if not to_emit.all():
            new = ~to_emit
            pair, one, two = pair[new], one[new], two[new]
            out.pairs(
                here.rows(left, one, out),
                there.rows(right, two, out),
                one,
                two,
                Windows(windows.start[pair], windows.end[pair]),
            )


@dataclass(slots=True)
class _Parts:
    """The parts of sessions, ordered by session."""

    ids: Ints  # of the sessions, ascending
    sessions: pl.DataFrame  # each part as a session
    new: Pairs  # ranges of new rows
    stored: Bools
    ranges: Ranges  # the parts of each session

    @classmethod
    def of(cls, side: Side, ids: Ints) -> _Parts:
        """Splits sessions, whose numbers may repeat."""
        sessions = side.sessions
        ids = sessions.unique_ids(ids)
        stored, fresh = ids[ids < sessions.base], ids[ids >= sessions.base]
        frames = [sessions.take(stored)] if stored.size else []
        owners = [stored]
        if sessions.merged is not None:
            grown = sessions.flags(ids)[sessions.merged.merged_ids]
            frames.append(take(sessions.merged.sessions, np.flatnonzero(grown)))
            owners.append(sessions.merged.merged_ids[grown])
        if fresh.size:
            frames.append(without_rows(sessions.take(fresh)))
        owners.append(fresh)
        of = np.concatenate(owners)
        order = np.argsort(of, kind="stable")
        at, new = sessions.new_rows(of)
        is_stored = np.arange(of.size) < of.size - fresh.size
        new[is_stored] = 0
        return cls(
            ids,
            take(stack_rechunked(frames), order),
            (at[order], new[order]),
            is_stored[order],
            Ranges.of(np.searchsorted(ids, of[order]), ids.size),
        )

    @property
    def low(self) -> Ints:
        return self.sessions[MATCH_START].to_numpy()

    @property
    def end(self) -> Ints:
        return self.sessions[TIME].to_numpy()

    def place(self, ids: Ints) -> Ints:
        return np.searchsorted(self.ids, ids)

    def rows(self, side: Side, parts: Ints, out: Output) -> RowsBySession:
        """Returns the rows of these parts, which may repeat."""
        which = np.zeros(self.stored.size, np.bool_)
        which[parts] = True
        stored = pl.Series(ROW_COUNT, np.where(which, self.sessions[ROW_COUNT].to_numpy(), 0))
        new = (self.new[0], np.where(which, self.new[1], 0))
        found = side.rows.of(with_columns(self.sessions, stored), new)
        return found.take(out.columns[side.number], which)


def enclosing_windows(left: Windows, right: Windows) -> Windows:
    return Windows(np.minimum(left.start, right.start), np.maximum(left.end, right.end))
