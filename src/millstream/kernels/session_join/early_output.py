"""What comes out as soon as two sessions meet: CHANGES.

Two rows of sessions that meet came out before if enclosing_windows were stored and the sessions that they were of
then had met. So a session of this step is looked at in parts: what it was made of, and new rows.

    left    ├── stored ──┤ new ├── stored ──┤          every part of one with every part of the other,
    right          ├── stored ──┤ new               but for two stored ones that share a moment
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
from millstream.kernels.session_join.state import LOW, ROW_COUNT


def new_session_pairs(left: Side, right: Side) -> Pairs:
    """Sessions (left, right) that meet, of which one at least was made or grew in this step."""
    own_rows, other_rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    if left.sessions.fresh is not None:
        who, ids = right.sessions.meeting(left.sessions.fresh.frame)
        own_rows.append(left.sessions.base + who)
        other_rows.append(ids)
    if right.sessions.fresh is not None:
        who, ids = left.sessions.meeting(right.sessions.fresh.frame, fresh=False)
        own_rows.append(ids)
        other_rows.append(right.sessions.base + who)
    return np.concatenate(own_rows), np.concatenate(other_rows)


def emit_new_pairs(left: Side, right: Side, out: Output) -> None:
    """Pairs of rows whose sessions meet and that did not come out before."""
    own_rows, other_rows = new_session_pairs(left, right)
    if not own_rows.size:
        return
    windows = enclosing_windows(left.windows(own_rows), right.windows(other_rows))
    here, there = _Parts.of(left, own_rows), _Parts.of(right, other_rows)
    whose = here.place(own_rows), there.place(other_rows)
    for some in cross(here.ranges, there.ranges, *whose):
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
    """What sessions are made of, in the order of the sessions."""

    ids: Ints  # of the sessions, rising
    sessions: pl.DataFrame  # as if each part were a session
    new: Pairs  # ranges of new rows
    stored: Bools
    ranges: Ranges  # of each session its parts

    @classmethod
    def of(cls, side: Side, ids: Ints) -> _Parts:
        """Of some sessions, whose numbers may repeat."""
        sessions = side.sessions
        ids = sessions.unique_ids(ids)
        stored, fresh = ids[ids < sessions.base], ids[ids >= sessions.base]
        frames = [sessions.take(stored)] if stored.size else []
        whose = [stored]
        if sessions.merged is not None:
            grown = sessions.flags(ids)[sessions.merged.into]
            frames.append(take(sessions.merged.sessions, np.flatnonzero(grown)))
            whose.append(sessions.merged.into[grown])
        if fresh.size:
            frames.append(without_rows(sessions.take(fresh)))
        whose.append(fresh)
        of = np.concatenate(whose)
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
        return self.sessions[LOW].to_numpy()

    @property
    def end(self) -> Ints:
        return self.sessions[TIME].to_numpy()

    def place(self, ids: Ints) -> Ints:
        return np.searchsorted(self.ids, ids)

    def rows(self, side: Side, parts: Ints, out: Output) -> RowsBySession:
        """Rows of these parts, which may repeat; of the others, none."""
        which = np.zeros(self.stored.size, np.bool_)
        which[parts] = True
        stored = pl.Series(ROW_COUNT, np.where(which, self.sessions[ROW_COUNT].to_numpy(), 0))
        new = (self.new[0], np.where(which, self.new[1], 0))
        found = side.rows.of(with_columns(self.sessions, stored), new)
        return found.take(out.columns[side.number], which)


def enclosing_windows(left: Windows, right: Windows) -> Windows:
    return Windows(np.minimum(left.start, right.start), np.maximum(left.end, right.end))
