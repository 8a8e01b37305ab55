"""Chains of rows and sessions: intervals of the same key that overlap or touch, directly or through
others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.grouping import group
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, time_order
from millstream.kernels.core.specs import INHERITED_START
from millstream.kernels.state.keyed_table import RowMatches, Table
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

CHAIN = "_chain"


def chain_rows(frame: pl.DataFrame, keys: Sequence[str], gap: int) -> pl.DataFrame:
    """Sorts rows by key and time, and adds the number of their chain. The sort is stable."""
    order, new_key = _key_order(frame, keys, frame[TIME].to_numpy())
    frame = take(frame, order)
    times = frame[TIME].to_numpy()
    breaks = new_key.copy()
    breaks[1:] |= times[1:] - times[:-1] > gap
    return frame.with_columns(pl.Series(CHAIN, np.cumsum(breaks)).set_sorted())


def sort_by_key(frame: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """Sorts rows by key and time, and adds a number of their key."""
    order, new_key = _key_order(frame, keys, frame[TIME].to_numpy())
    return take(frame, order).with_columns(pl.Series(name, np.cumsum(new_key) - 1))


def chain_intervals(frame: pl.DataFrame, keys: Sequence[str]) -> Ints:
    """Returns the number of each interval's chain. Intervals are [_ws, _t], including both ends."""
    starts = frame[INHERITED_START].to_numpy()
    order, new_key = _key_order(frame, keys, starts)
    reach = _greatest_so_far(frame[TIME].to_numpy()[order], np.cumsum(new_key))
    breaks = new_key.copy()
    breaks[1:] |= starts[order][1:] > reach[:-1]
    chains = np.empty(len(order), np.int64)
    chains[order] = np.cumsum(breaks) - 1
    return chains


def _greatest_so_far(ends: Ints, keys: Ints) -> Ints:
    """Returns the running maximum of the ends of each key. `keys` are ascending numbers from 1."""
    if not ends.size:
        return ends
    least = int(ends.min())
    span = int(ends.max()) - least + 1
    if span * (int(keys[-1]) + 1) < 2**62:  # each key gets its own range of numbers
        above = keys * span - least
        greatest: Ints = np.maximum.accumulate(ends + above) - above
        return greatest
    frame = pl.DataFrame({"key": keys, "end": ends})
    return frame.select(pl.col("end").cum_max().over("key")).to_series().to_numpy()


def _key_order(frame: pl.DataFrame, keys: Sequence[str], times: Ints) -> tuple[Ints, Bools]:
    """Returns the order of rows by key and time, and where in that order a key begins."""
    hashes = frame[HASH].to_numpy()
    sorted_rows = time_order(times)
    if sorted_rows is None:
        order = KeyIndex.of(hashes, times).order
    else:
        order = sorted_rows[KeyIndex.of(hashes[sorted_rows], times[sorted_rows]).order]
    ordered = hashes[order]
    same_hash = ordered[1:] == ordered[:-1]
    new_key = np.ones(len(order), np.bool_)
    new_key[1:] = ~same_hash
    if keys and not bool((same_hash <= _same_keys(frame, keys, order)).all()):
        # Two keys share a hash: only then compare all keys.
        numbered = frame.select(HASH, *keys).with_columns(pl.Series("_start", times))
        sorting = numbered.select(pl.arg_sort_by([HASH, *keys, "_start"], maintain_order=True))
        order = sorting.to_series().to_numpy().astype(np.int64)
        ordered = hashes[order]
        new_key[1:] = (ordered[1:] != ordered[:-1]) | ~_same_keys(frame, keys, order)
    return order, new_key


def _same_keys(frame: pl.DataFrame, keys: Sequence[str], order: Ints) -> Bools:
    """Returns whether each row in that order has the key of the row before."""
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    ordered = take(frame.select(keys), order)
    for name in keys:
        column = ordered[name]
        same &= column[1:].eq_missing(column[:-1]).to_numpy()
    return same


@dataclass(slots=True)
class Components:
    """New fragments, the stored sessions they overlap, and the chains they form."""

    fragments: pl.DataFrame
    stored: pl.DataFrame  # with the columns of fragments
    found: RowMatches
    chains: Ints  # of stored sessions, then of fragments

    @classmethod
    def of(cls, groups: Table, fragments: pl.DataFrame, keys: Sequence[str]) -> Components:
        names = [HASH, *keys, INHERITED_START, TIME]
        stored, found = (
            fragments.select(names).clear(),
            _overlapping_sessions(groups, fragments, keys),
        )
        if len(found):
            stored = found.rows(names)
        chains = chain_intervals(stored.vstack(fragments.select(names)), keys)
        has_new = np.zeros(int(chains.max(initial=-1)) + 1, np.bool_)
        has_new[chains[stored.height :]] = True
        if not has_new.all():  # sessions between fragments that overlap none
            own_rows = has_new[chains[: stored.height]]
            chains = (np.cumsum(has_new) - 1)[
                chains[np.append(own_rows, np.ones(fragments.height, bool))]
            ]
            stored, found = stored.filter(own_rows), found.filter(own_rows)
        return cls(fragments, stored, found, chains)

    def closed_by(self, time: int) -> pl.Series:
        """Returns which fragments ended before `time` and are in chains without a stored
        session."""
        count = int(self.chains.max()) + 1
        open_ = np.zeros(count, np.bool_)
        open_[self.chains[: self.stored.height]] = True
        own_rows = self.chains[self.stored.height :]
        open_[own_rows[self.fragments[TIME].to_numpy() >= time]] = True
        return pl.Series(~open_[own_rows])


def _overlapping_sessions(
    groups: Table, fragments: pl.DataFrame, keys: Sequence[str]
) -> RowMatches:
    """Finds stored sessions that may overlap fragments of their key, each session once.

    A session may overlap if it ends after its key's first fragment begins, and begins before the
    last one ends. Each key is looked up once, because pairs of all its fragments and sessions would
    be many.
    """
    codes, first = group(fragments, keys)
    begin, end = np.full(first.size, END_OF_TIME), np.full(first.size, BEGIN_OF_TIME)
    np.minimum.at(begin, codes, fragments[INHERITED_START].to_numpy())
    np.maximum.at(end, codes, fragments[TIME].to_numpy())
    lookups = take(fragments.select(HASH, *keys), first).with_columns(pl.Series(TIME, begin))
    found = groups.probe(lookups, 0, None)
    if not len(found):
        return found
    starts = found.rows([INHERITED_START])[INHERITED_START].to_numpy()
    return found.filter(starts <= end[found.new])
