"""Limits of a session join: the step fails, or closes sessions early.

Overlapping sessions, directly or through others, close together, the ones with the earliest end
first. So each pair is still emitted once and no row is lost, but later rows of such a session begin
a new one.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.errors import StateError
from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.session_chains import chain_intervals
from millstream.kernels.session_join.side import Side
from millstream.kernels.session_join.state import ROW_COUNT, SessionJoinState
from millstream.temporal import OnLimit, StateLimit


def excess_rows(state: SessionJoinState, limit: StateLimit) -> int:
    """Returns by how many rows the state exceeds its limit; raises an error if the limit does not
    evict."""
    rows = state.row_count
    over = 0 if limit.max_rows is None else rows - limit.max_rows
    if limit.max_bytes is not None and state.byte_count > limit.max_bytes:
        over = max(over, -(-(state.byte_count - limit.max_bytes) * rows // state.byte_count))
    if over > 0 and limit.on_limit is OnLimit.FAIL:
        raise _limit_error(state, limit)
    return max(over, 0)


def choose_sessions(sides: tuple[Side, Side], count: int, open_from: int) -> tuple[Ints, Ints]:
    """Chooses open sessions to close, so that at least `count` rows leave state."""
    stored = [side.sessions.all_ids() for side in sides]
    frames = [side.sessions.take(ids) for side, ids in zip(sides, stored, strict=True)]
    combined = (
        frames[0].vstack(frames[1]) if stored[0].size and stored[1].size else _tallest(frames)
    )
    chains = chain_intervals(combined, sides[0].sessions.keys)
    ends = combined[TIME].to_numpy()
    chosen = _first_to_close(chains, ends, 1 + combined[ROW_COUNT].to_numpy(), count)[chains]
    chosen &= ends >= open_from  # closed sessions that wait for them are removed with them
    return stored[0][chosen[: stored[0].size]], stored[1][chosen[stored[0].size :]]


def _first_to_close(chains: Ints, ends: Ints, weights: Ints, count: int) -> Bools:
    total = np.bincount(chains, weights).astype(np.int64)
    last = np.full(total.size, np.iinfo(np.int64).min)
    np.maximum.at(last, chains, ends)
    order = np.argsort(last, kind="stable")
    needed = int(np.searchsorted(np.cumsum(total[order]), count)) + 1
    chosen = np.zeros(total.size, np.bool_)
    chosen[order[:needed]] = True
    return chosen


def _tallest(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return max(frames, key=lambda frame: frame.height)


def _limit_error(state: SessionJoinState, limit: StateLimit) -> StateError:
    if limit.max_rows is not None and state.row_count > limit.max_rows:
        what, name = f"{state.row_count} rows; its limit is {limit.max_rows}", "state.max_rows"
    else:
        what, name = f"{state.byte_count} bytes; its limit is {limit.max_bytes}", "state.max_bytes"
    return StateError(
        "MS-STATE-LIMIT",
        f"one key group of the session join has {what}.",
        fix=f"Raise '{name}', shorten the gap, or set 'state.on_limit' = 'evict' to close the "
        "oldest sessions early.",
    )
