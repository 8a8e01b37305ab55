"""Merging of new rows into sessions: chains of new rows, merged with the open sessions that they
adjoin.

    stored     ├──────┤        ├─────┤
    new             ├────────────┤          ├──┤
    sessions   ├─────────────────────┤      ├──┤

The stored sessions that were merged are remembered for this step, see `early_output`.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.kernels.core.frames import single_chunk, stack_rechunked, take, with_columns
from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Ints, time_order
from millstream.kernels.session_chains import chain_intervals
from millstream.kernels.session_join.sessions import (
    FIRST_NEW_ROW,
    NEW_ROW_COUNT,
    MergedSessions,
    Sessions,
)
from millstream.kernels.session_join.state import MATCH_START, ROW_COUNT, START
from millstream.kernels.state.sorted_rows import Rows

_LATER = np.iinfo(np.int64).max


def merge(sessions: Sessions, fragments: pl.DataFrame, open_from: int) -> None:
    """Makes `fragments` sessions of this step.

    Fragments are ordered by key and time, and adjoin each other only through stored sessions.
    Sessions that end before `open_from` are closed.
    """
    sessions_found, ids = sessions.adjoining(fragments, open_from)
    fresh, merged = fragments, None
    if ids.size:
        ids = sessions.unique_ids(ids)
        stored = sessions.take(ids)
        adjoining = np.zeros(fragments.height, np.bool_)
        adjoining[sessions_found] = True
        fresh, merged_ids = _grown(stored, take(fragments, np.flatnonzero(adjoining)), sessions)
        unmatched = take(fragments, np.flatnonzero(~adjoining))
        fresh, merged = (
            unmatched.vstack(fresh),
            MergedSessions(stored, unmatched.height + merged_ids),
        )
        sessions.remove(ids)
    order = time_order(fresh[TIME].to_numpy())
    if order is not None:
        fresh = take(fresh, order)
        if merged is not None:
            merged.merged_ids = np.argsort(order)[merged.merged_ids]
    if merged is not None:
        merged.merged_ids += sessions.base
    sessions.put(Rows.of(single_chunk(fresh)), merged)


def _grown(
    stored: pl.DataFrame, fragments: pl.DataFrame, sessions: Sessions
) -> tuple[pl.DataFrame, Ints]:
    """Merges stored sessions with the fragments that adjoin them; returns also the new session of
    each stored one."""
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

    # The fragments of a chain are adjacent, so its new rows are one range.
    grown = with_columns(
        take(combined, order[firsts]),
        of_chain(np.minimum, START),
        of_chain(np.minimum, MATCH_START),
        of_chain(np.add, ROW_COUNT),
        of_chain(np.maximum, TIME),
        of_chain(np.minimum, FIRST_NEW_ROW, of_stored=_LATER),
        of_chain(np.add, NEW_ROW_COUNT, of_stored=0),
    )
    return grown[:, fragments.columns], chains[: stored.height]
