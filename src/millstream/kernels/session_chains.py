"""Which rows and sessions chain: intervals of one key that overlap or touch, also by others."""

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
    """Rows by key and time, with the number of their chain. Rows of one time stay as they are."""
    order, new_key = _by_key(frame, keys, frame[TIME].to_numpy())
    frame = take(frame, order)
    times = frame[TIME].to_numpy()
    breaks = new_key.copy()
    breaks[1:] |= times[1:] - times[:-1] > gap
    return frame.with_columns(pl.Series(CHAIN, np.cumsum(breaks)).set_sorted())


def by_key(frame: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """Rows by key and time, with a number for their key."""
    order, new_key = _by_key(frame, keys, frame[TIME].to_numpy())
    return take(frame, order).with_columns(pl.Series(name, np.cumsum(new_key) - 1))


def chain_intervals(frame: pl.DataFrame, keys: Sequence[str]) -> Ints:
    """For each interval [_ws, _t], both ends in, the number of its chain."""
    starts = frame[INHERITED_START].to_numpy()
    order, new_key = _by_key(frame, keys, starts)
    reach = _greatest_so_far(frame[TIME].to_numpy()[order], np.cumsum(new_key))
    breaks = new_key.copy()
    breaks[1:] |= starts[order][1:] > reach[:-1]
    chains = np.empty(len(order), np.int64)
    chains[order] = np.cumsum(breaks) - 1
    return chains


def _greatest_so_far(ends: Ints, keys: Ints) -> Ints:
    """Of each key's ends the greatest up to here; keys are numbers that rise from 1."""
    if not ends.size:
        return ends
    least = int(ends.min())
    span = int(ends.max()) - least + 1
    if span * (int(keys[-1]) + 1) < 2**62:  # each key gets a range of numbers above the last one's
        above = keys * span - least
        greatest: Ints = np.maximum.accumulate(ends + above) - above
        return greatest
    frame = pl.DataFrame({"key": keys, "end": ends})
    return frame.select(pl.col("end").cum_max().over("key")).to_series().to_numpy()


def _by_key(frame: pl.DataFrame, keys: Sequence[str], times: Ints) -> tuple[Ints, Bools]:
    """How to put rows in order by key and time, and where in that order a key begins."""
    hashes = frame[HASH].to_numpy()
    early = time_order(times)
    if early is None:
        order = KeyIndex.of(hashes, times).order
    else:
        order = early[KeyIndex.of(hashes[early], times[early]).order]
    ordered = hashes[order]
    same_hash = ordered[1:] == ordered[:-1]
    new_key = np.ones(len(order), np.bool_)
    new_key[1:] = ~same_hash
    if keys and not bool((same_hash <= _same_keys(frame, keys, order)).all()):
        # Two keys share a hash: only then is it worth comparing them all.
        numbered = frame.select(HASH, *keys).with_columns(pl.Series("_start", times))
        sorting = numbered.select(pl.arg_sort_by([HASH, *keys, "_start"], maintain_order=True))
        order = sorting.to_series().to_numpy().astype(np.int64)
        ordered = hashes[order]
        new_key[1:] = (ordered[1:] != ordered[:-1]) | ~_same_keys(frame, keys, order)
    return order, new_key


def _same_keys(frame: pl.DataFrame, keys: Sequence[str], order: Ints) -> Bools:
    """Is a row's key, in that order, the one of the row before?"""
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    ordered = take(frame.select(keys), order)
    for name in keys:
        column = ordered[name]
        same &= column[1:].eq_missing(column[:-1]).to_numpy()
    return same


@dataclass(slots=True)
class Components:
    """New fragments and the stored sessions that they overlap, and the chains that they make."""

    fragments: pl.DataFrame
    stored: pl.DataFrame  # with the columns of fragments
    found: RowMatches
    chains: Ints  # of stored sessions, then of fragments

    @classmethod
    def of(cls, groups: Table, fragments: pl.DataFrame, keys: Sequence[str]) -> Components:
        names = [HASH, *keys, INHERITED_START, TIME]
        stored, found = fragments.select(names).clear(), _near(groups, fragments, keys)
        if len(found):
            stored = found.rows(names)
        chains = chain_intervals(stored.vstack(fragments.select(names)), keys)
        met = np.zeros(int(chains.max(initial=-1)) + 1, np.bool_)
        met[chains[stored.height :]] = True
        if not met.all():  # sessions that lie between fragments and touch none
            own_rows = met[chains[: stored.height]]
            chains = (np.cumsum(met) - 1)[
                chains[np.append(own_rows, np.ones(fragments.height, bool))]
            ]
            stored, found = stored.filter(own_rows), found.filter(own_rows)
        return cls(fragments, stored, found, chains)

    def closed_by(self, time: int) -> pl.Series:
        """Which fragments are of chains that no stored session is in and that ended before `time`."""
        count = int(self.chains.max()) + 1
        open_ = np.zeros(count, np.bool_)
        open_[self.chains[: self.stored.height]] = True
        own_rows = self.chains[self.stored.height :]
        open_[own_rows[self.fragments[TIME].to_numpy() >= time]] = True
        return pl.Series(~open_[own_rows])


def _near(groups: Table, fragments: pl.DataFrame, keys: Sequence[str]) -> RowMatches:
    """Held sessions, each once, that end after their key's first fragment begins and begin before
    its last one ends. A key is looked up removes_matched: pairs of all its fragments with all its sessions
    would be many."""
    codes, first = group(fragments, keys)
    begin, end = np.full(first.size, END_OF_TIME), np.full(first.size, BEGIN_OF_TIME)
    np.minimum.at(begin, codes, fragments[INHERITED_START].to_numpy())
    np.maximum.at(end, codes, fragments[TIME].to_numpy())
    asked = take(fragments.select(HASH, *keys), first).with_columns(pl.Series(TIME, begin))
    found = groups.probe(asked, 0, None)
    if not len(found):
        return found
    begun = found.rows([INHERITED_START])[INHERITED_START].to_numpy()
    return found.filter(begun <= end[found.new])
