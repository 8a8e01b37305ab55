"""What comes out as soon as two sessions meet: CHANGES.

Two rows of sessions that meet came out before if both were held and the sessions that they were of
then had met. So a session of this step is looked at in parts: what it was made of, and new rows.

    left    ├── held ──┤ new ├── held ──┤          every part of one with every part of the other,
    right          ├── held ──┤ new               but for two held ones that share a moment
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Bools, Ints, Pairs
from millstream.kernels.session_join.frames import stacked, with_columns
from millstream.kernels.session_join.output import Out, Windows, cross
from millstream.kernels.session_join.session_rows import Ranges, Taken
from millstream.kernels.session_join.sessions import without_rows
from millstream.kernels.session_join.side import Side
from millstream.kernels.session_join.state import HELD, LOW
from millstream.kernels.state.sorted_rows import take


def met_now(left: Side, right: Side) -> Pairs:
    """Sessions (left, right) that meet, of which one at least was made or grew in this step."""
    mine, theirs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    if left.sessions.fresh is not None:
        who, ids = right.sessions.meeting(left.sessions.fresh.frame)
        mine.append(left.sessions.base + who)
        theirs.append(ids)
    if right.sessions.fresh is not None:
        who, ids = left.sessions.meeting(right.sessions.fresh.frame, fresh=False)
        mine.append(ids)
        theirs.append(right.sessions.base + who)
    return np.concatenate(mine), np.concatenate(theirs)


def tell_pairs(left: Side, right: Side, out: Out) -> None:
    """Pairs of rows whose sessions meet and that did not come out before."""
    mine, theirs = met_now(left, right)
    if not mine.size:
        return
    windows = both(left.windows(mine), right.windows(theirs))
    here, there = _Parts.of(left, mine), _Parts.of(right, theirs)
    whose = here.place(mine), there.place(theirs)
    for some in cross(here.ranges, there.ranges, *whose):
        pair, one, two = some.all()
        told = here.held[one] & there.held[two]
        told &= (here.low[one] <= there.end[two]) & (there.low[two] <= here.end[one])
        if not told.all():
            new = ~told
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
    held: Bools
    ranges: Ranges  # of each session its parts

    @classmethod
    def of(cls, side: Side, ids: Ints) -> _Parts:
        """Of some sessions, whose numbers may repeat."""
        sessions = side.sessions
        ids = sessions.once(ids)
        held, fresh = ids[ids < sessions.base], ids[ids >= sessions.base]
        frames = [sessions.take(held)] if held.size else []
        whose = [held]
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
        is_held = np.arange(of.size) < of.size - fresh.size
        new[is_held] = 0
        return cls(
            ids,
            take(stacked(frames), order),
            (at[order], new[order]),
            is_held[order],
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

    def rows(self, side: Side, parts: Ints, out: Out) -> Taken:
        """Rows of these parts, which may repeat; of the others, none."""
        which = np.zeros(self.held.size, np.bool_)
        which[parts] = True
        held = pl.Series(HELD, np.where(which, self.sessions[HELD].to_numpy(), 0))
        new = (self.new[0], np.where(which, self.new[1], 0))
        found = side.rows.of(with_columns(self.sessions, held), new)
        return found.take(out.columns[side.number], which)


def both(left: Windows, right: Windows) -> Windows:
    return Windows(np.minimum(left.start, right.start), np.maximum(left.end, right.end))
