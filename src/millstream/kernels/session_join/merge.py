"""NewRows rows become sessions: chains of them, one with the open sessions that they touch.

    stored       ├──────┤        ├─────┤
    new             ├────────────┤          ├──┤
    sessions   ├─────────────────────┤      ├──┤

What a session was made of is remembered for this step, see `session_join_meet`.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.kernels.core.frames import single_chunk, stack_rechunked, take, with_columns
from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Ints, time_order
from millstream.kernels.session_chains import chain_intervals
from millstream.kernels.session_join.sessions import AT, NEW, MergedSessions, Sessions
from millstream.kernels.session_join.state import LOW, ROW_COUNT, START
from millstream.kernels.state.sorted_rows import Rows

_LATER = np.iinfo(np.int64).max


def merge(sessions: Sessions, fragments: pl.DataFrame, open_from: int) -> None:
    """Makes `fragments` sessions of this step. They lie in order of key and time, and no two of
    them touch but by a stored session; those that end before `open_from` are closed."""
    who, ids = sessions.touching(fragments, open_from)
    fresh, merged = fragments, None
    if ids.size:
        ids = sessions.unique_ids(ids)
        stored = sessions.take(ids)
        touching = np.zeros(fragments.height, np.bool_)
        touching[who] = True
        fresh, into = _grown(stored, take(fragments, np.flatnonzero(touching)), sessions)
        unmatched = take(fragments, np.flatnonzero(~touching))
        fresh, merged = unmatched.vstack(fresh), MergedSessions(stored, unmatched.height + into)
        sessions.remove(ids)
    order = time_order(fresh[TIME].to_numpy())
    if order is not None:
        fresh = take(fresh, order)
        if merged is not None:
            merged.into = np.argsort(order)[merged.into]
    if merged is not None:
        merged.into += sessions.base
    sessions.put(Rows.of(single_chunk(fresh)), merged)


def _grown(
    stored: pl.DataFrame, fragments: pl.DataFrame, sessions: Sessions
) -> tuple[pl.DataFrame, Ints]:
    """What stored sessions and the fragments that touch them become; and of each stored one, what."""
    combined = stack_rechunked([stored, fragments[:, sessions.columns]])
    chains = chain_intervals(combined, sessions.keys)
    order = np.argsort(chains, kind="stable")
    firsts = np.searchsorted(chains[order], np.arange(int(chains.max()) + 1))

    def of_chain(fold: np.ufunc, name: str, of_stored: int | None = None) -> pl.Series:
        if of_stored is None:
            values = combined[name].to_numpy()
        else:
            values = np.full(combined.height, of_stored)
            values[stored.height :] = fragments[name].to_numpy()
        return pl.Series(name, fold.reduceat(values[order], firsts))

    # The fragments of a chain are neighbours: its new rows are one range.
    grown = with_columns(
        take(combined, order[firsts]),
        of_chain(np.minimum, START),
        of_chain(np.minimum, LOW),
        of_chain(np.add, ROW_COUNT),
        of_chain(np.maximum, TIME),
        of_chain(np.minimum, AT, of_stored=_LATER),
        of_chain(np.add, NEW, of_stored=0),
    )
    return grown[:, fragments.columns], chains[: stored.height]
