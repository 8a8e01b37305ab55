"""SEMI and ANTI joins that are done with a left row once its session has met one.

SEMI lets such rows out, ANTI lets them go; neither holds them. All that is kept of the session is
its time, so that rows to come are part of it: one that has met holds no rows, one that has not
holds all of them. So no right session need be held once it is closed. ANTI does so in either mode,
SEMI under CHANGES.
"""

from __future__ import annotations

import numpy as np

from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.session_join.early_output import both, met_now
from millstream.kernels.session_join.output import Out, Windows
from millstream.kernels.session_join.search import least_of_each
from millstream.kernels.session_join.side import Side
from millstream.kernels.session_join.state import HELD
from millstream.values import JoinType


def spend_left(left: Side, right: Side, how: JoinType, out: Out) -> None:
    """Rows of left sessions that have met one now, or are part of one that did before."""
    mine, theirs = met_now(left, right)
    met = left.sessions.flags(mine)
    if (merged := left.sessions.merged) is not None:
        met[merged.into[merged.sessions[HELD].to_numpy() == 0]] = True
    ids = np.flatnonzero(met)
    ids = ids[~_has_met(left, ids)]
    lot = left.rows_of(ids)
    if how is JoinType.ANTI:
        out.counts["matches"] += lot.number()
    elif (taken := lot.take(ids, out.columns[0])) is not None:
        out.once(taken, _windows(left, right, ids, (mine, theirs)))
    lot.remove(ids)
    left.spent[ids] = True


def close_known(left: Side, right: Side, ids: tuple[Ints, Ints], out: Out) -> tuple[int, int]:
    """Lets these sessions go; gives how many held rows went, a side."""
    unmet = ids[0][~(left.spent[ids[0]] | _has_met(left, ids[0]))]
    lot = left.rows_of(unmet)
    taken = lot.take(unmet, out.columns[0]) if left.preserved else None
    if taken is not None:
        out.alone(0, taken, left.windows(unmet))
    left.sessions.remove(ids[0])
    left.spent[ids[0]] = False
    right.sessions.remove(ids[1])
    return lot.remove(unmet), 0


def _has_met(left: Side, ids: Ints) -> Bools:
    """Which are held, and had met one before this step?"""
    met: Bools = (ids < left.sessions.base) & (left.sessions.column(HELD, ids) == 0)
    return met


def _windows(left: Side, right: Side, ids: Ints, pairs: tuple[Ints, Ints]) -> Windows:
    """As far as they are known: of a session that met one before, its own."""
    own = left.windows(ids)
    first = least_of_each(pairs[0], right.sessions.ends(pairs[1]))
    mine, theirs = pairs[0][first], pairs[1][first]
    some = np.isin(mine, ids)
    places = np.searchsorted(ids, mine[some])
    wide = both(left.windows(mine[some]), right.windows(theirs[some]))
    own.start[places], own.end[places] = wide
    return own
