"""SEMI and ANTI joins that finish a left row at the first match of its session.

SEMI emits such rows, ANTI drops them; neither stores them. Only the session's time stays in state,
so that later rows join it: a matched session has no rows in state, an unmatched one has all of
them. So right sessions need not stay in state once they are closed. ANTI uses this in both modes,
SEMI with EMIT CHANGES.
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
    """Emits (SEMI) or drops (ANTI) rows of left sessions that match now or have matched before."""
    own_rows, other_rows = new_session_pairs(left, right)
    has_match = left.sessions.flags(own_rows)
    if (merged := left.sessions.merged) is not None:
        has_match[merged.merged_ids[merged.sessions[ROW_COUNT].to_numpy() == 0]] = True
    ids = np.flatnonzero(has_match)
    ids = ids[~_was_matched(left, ids)]
    selected = left.rows_of(ids)
    rows = selected.take(ids, out.columns[0]) if how is JoinType.SEMI else None
    if rows is not None:
        out.left_rows(rows, _windows(left, right, ids, (own_rows, other_rows)))
    selected.remove(ids)
    left.is_matched[ids] = True


def close_semi_anti(
    left: Side, right: Side, ids: tuple[Ints, Ints], out: Output
) -> tuple[int, int]:
    """Closes these sessions; returns how many stored rows were removed, per side."""
    unmatched = ids[0][~(left.is_matched[ids[0]] | _was_matched(left, ids[0]))]
    selected = left.rows_of(unmatched)
    rows = selected.take(unmatched, out.columns[0]) if left.preserved else None
    if rows is not None:
        out.unmatched(0, rows, left.windows(unmatched))
    left.sessions.remove(ids[0])
    left.is_matched[ids[0]] = False
    right.sessions.remove(ids[1])
    return selected.remove(unmatched), 0


def _was_matched(left: Side, ids: Ints) -> Bools:
    """Returns which sessions were stored and had matched before this step."""
    has_match: Bools = (ids < left.sessions.base) & (left.sessions.column(ROW_COUNT, ids) == 0)
    return has_match


def _windows(left: Side, right: Side, ids: Ints, pairs: tuple[Ints, Ints]) -> Windows:
    """Returns the windows as far as they are known: for a session that matched before, its own."""
    own = left.windows(ids)
    first = least_of_each(pairs[0], right.sessions.ends(pairs[1]))
    own_rows, other_rows = pairs[0][first], pairs[1][first]
    some = np.isin(own_rows, ids)
    places = np.searchsorted(ids, own_rows[some])
    wide = enclosing_windows(left.windows(own_rows[some]), right.windows(other_rows[some]))
    own.start[places], own.end[places] = wide
    return own
