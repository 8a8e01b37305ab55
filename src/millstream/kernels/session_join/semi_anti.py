"""SEMI and ANTI joins that are done with a left row once its session has met one.

SEMI lets such rows out, ANTI lets them go; neither holds them. All that is retained of the session is
its time, so that rows to come are part of it: one that has met holds no rows, one that has not
holds all of them. So no right session need be stored once it is closed. ANTI does so in either mode,
SEMI under CHANGES.
"""

from __future__ import annotations

import numpy as np

from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.session_join.early_output import enclosing_windows, new_session_pairs
from millstream.kernels.session_join.output import Output, Windows
from millstream.kernels.session_join.search import least_of_each
from millstream.kernels.session_join.side import Side
from millstream.kernels.session_join.state import ROW_COUNT
from millstream.values import JoinType


def drop_matched_left(left: Side, right: Side, how: JoinType, out: Output) -> None:
    """Rows of left sessions that have met one now, or are part of one that did before."""
    own_rows, other_rows = new_session_pairs(left, right)
    met = left.sessions.flags(own_rows)
    if (merged := left.sessions.merged) is not None:
        met[merged.into[merged.sessions[ROW_COUNT].to_numpy() == 0]] = True
    ids = np.flatnonzero(met)
    ids = ids[~_has_met(left, ids)]
    selected = left.rows_of(ids)
    if how is JoinType.ANTI:
        out.counts["matches"] += selected.number()
    elif (rows := selected.take(ids, out.columns[0])) is not None:
        out.left_rows(rows, _windows(left, right, ids, (own_rows, other_rows)))
    selected.remove(ids)
    left.is_matched[ids] = True


def close_semi_anti(
    left: Side, right: Side, ids: tuple[Ints, Ints], out: Output
) -> tuple[int, int]:
    """Lets these sessions go; gives how many stored rows went, a side."""
    unmet = ids[0][~(left.is_matched[ids[0]] | _has_met(left, ids[0]))]
    selected = left.rows_of(unmet)
    rows = selected.take(unmet, out.columns[0]) if left.preserved else None
    if rows is not None:
        out.unmatched(0, rows, left.windows(unmet))
    left.sessions.remove(ids[0])
    left.is_matched[ids[0]] = False
    right.sessions.remove(ids[1])
    return selected.remove(unmet), 0


def _has_met(left: Side, ids: Ints) -> Bools:
    """Which are stored, and had met one before this step?"""
    met: Bools = (ids < left.sessions.base) & (left.sessions.column(ROW_COUNT, ids) == 0)
    return met


def _windows(left: Side, right: Side, ids: Ints, pairs: tuple[Ints, Ints]) -> Windows:
    """As far as they are known: of a session that met one before, its own."""
    own = left.windows(ids)
    first = least_of_each(pairs[0], right.sessions.ends(pairs[1]))
    own_rows, other_rows = pairs[0][first], pairs[1][first]
    some = np.isin(own_rows, ids)
    places = np.searchsorted(ids, own_rows[some])
    wide = enclosing_windows(left.windows(own_rows[some]), right.windows(other_rows[some]))
    own.start[places], own.end[places] = wide
    return own
