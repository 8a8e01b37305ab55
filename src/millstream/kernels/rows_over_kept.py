"""What is kept of a partition between batches, and the aggregates of rows that come after it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.kernels import rows_over_frames as frames
from millstream.kernels.accumulators import ROWS, Accumulators
from millstream.kernels.base import HASH, TIME
from millstream.kernels.index import Ints, time_order
from millstream.kernels.rows import take
from millstream.kernels.specs import RowsOverSpec
from millstream.kernels.table import Found, Table, group

SEQUENCE = "_s"  # the number of a row in its partition


class Extended(NamedTuple):
    partials: pl.DataFrame  # of each row's frame
    more: int  # rows that what is kept stands for


class _Arranged(NamedTuple):
    """Rows partition by partition in their order. A partition silent for longer than its time to
    live is in parts, of which the last goes on."""

    order: Ints
    places: Ints  # in its part, from 0
    part_stop: Ints
    stop: Ints  # of its partition


class Keeper:
    """Made once; what is kept of each partition lies in a table."""

    def __init__(self, spec: RowsOverSpec) -> None:
        self.spec = spec
        self.functions = Accumulators(spec.calls, weighted=False, ansi=spec.ansi)
        read = (name for call in spec.calls for name in (call.argument, call.filter, call.by))
        self.read = [name for name in dict.fromkeys(read) if name is not None]

    def extend(self, kept: Table, rows: pl.DataFrame) -> Extended:
        """`rows` are in the order of time; from now on they are part of what is kept."""
        raise NotImplementedError

    def rows_in(self, kept: pl.DataFrame) -> int:
        """How many rows what is kept stands for."""
        raise NotImplementedError

    def _find(self, kept: Table, rows: pl.DataFrame, first: Ints) -> Found:
        names = list(dict.fromkeys((*self.spec.partition, TIME, HASH)))
        return kept.probe(take(rows[:, names], first))

    def _arrange(self, codes: Ints, sequence: Ints, times: Ints) -> _Arranged:
        packed = codes * (int(sequence.max(initial=0)) + 1) + sequence
        order = time_order(packed)
        if order is None:
            order = np.arange(codes.size)
        codes, times = codes[order], times[order]
        changes = np.append(True, codes[1:] != codes[:-1])
        breaks = changes.copy()
        if self.spec.ttl is not None:
            breaks[1:] |= times[1:] - times[:-1] > self.spec.ttl
        starts = np.flatnonzero(breaks)
        sizes = np.diff(np.append(starts, codes.size))
        places = np.arange(codes.size) - np.repeat(starts, sizes)
        stops = np.append(np.flatnonzero(changes)[1:], codes.size)
        stop = np.repeat(stops, np.diff(np.append(0, stops)))
        return _Arranged(order, places, np.repeat(starts + sizes, sizes), stop)

    def _fold(self, rows: pl.DataFrame, sequence: Ints) -> pl.DataFrame:
        """A partial a row. First and last go by the row's number: it tells equal times apart."""
        numbered = rows[:, self.read].with_columns(pl.Series(TIME, sequence))
        return frames.fold_each(self.functions, numbered)


class LastRows(Keeper):
    """Keeps the last rows of a partition, as many as a frame reaches back."""

    def extend(self, kept: Table, rows: pl.DataFrame) -> Extended:
        assert self.spec.preceding is not None
        codes, first = group(rows, self.spec.partition)
        found = self._find(kept, rows, first)
        number = np.zeros(first.size, np.int64)
        names = list(dict.fromkeys((*self.spec.partition, *self.read)))
        if len(found):
            held = found.rows([*names, SEQUENCE, TIME, HASH])
            np.maximum.at(number, found.new, held[SEQUENCE].to_numpy() + 1)
        new = rows[:, names].with_columns(
            pl.Series(SEQUENCE, number[codes] + _places(codes)), rows[TIME], rows[HASH]
        )
        every = held.vstack(new) if len(found) else new
        codes = np.concatenate((found.new, codes))
        sequence, times = every[SEQUENCE].to_numpy(), every[TIME].to_numpy()
        least = np.full(first.size, np.iinfo(np.int64).max)
        np.minimum.at(least, codes, sequence)
        arranged = self._arrange(codes, sequence - least[codes], times)
        order = arranged.order
        partials = self._fold(take(every, order), sequence[order])
        width = self.spec.preceding + 1
        made = frames.sliding(self.functions, partials, arranged.places, width)
        before = kept.held
        self._keep(kept, found, every, codes, arranged)
        return Extended(take(made, _inverse(order)[len(found) :]), kept.held - before)

    def _keep(
        self, kept: Table, found: Found, every: pl.DataFrame, codes: Ints, arranged: _Arranged
    ) -> None:
        assert self.spec.preceding is not None
        order = arranged.order
        left = arranged.stop - np.arange(order.size)
        stays = np.zeros(order.size, np.bool_)
        stays[order] = (left <= self.spec.preceding) & (arranged.part_stop == arranged.stop)
        if self.spec.ttl is not None:  # all rows of a partition go when its last one does
            last = np.zeros(int(codes.max()) + 1, np.int64)
            last[codes[order]] = every[TIME].to_numpy()[order]
            every = every.with_columns(pl.Series(TIME, last[codes]))
            kept.remove(found)
            fresh = np.flatnonzero(stays)
        else:
            kept.remove(found.only(~stays[: len(found)]))
            fresh = np.flatnonzero(stays[len(found) :]) + len(found)
        if fresh.size:
            kept.append(take(every, fresh))

    def rows_in(self, kept: pl.DataFrame) -> int:
        return kept.height


class Running(Keeper):
    """Keeps one partial result of all rows of a partition."""

    def extend(self, kept: Table, rows: pl.DataFrame) -> Extended:
        codes, first = group(rows, self.spec.partition)
        found = self._find(kept, rows, first)
        number = np.zeros(first.size, np.int64)
        before = np.zeros(0, np.int64)
        if len(found):
            number[found.new] = found.rows([ROWS])[ROWS].to_numpy()
            before = found.rows([TIME])[TIME].to_numpy()
        places = _places(codes)
        partials = self._fold(rows, number[codes] + places)
        if len(found):
            partials = frames.stacked([found.rows(partials.columns), partials])
        codes = np.concatenate((found.new, codes))
        sequence = np.concatenate((np.zeros(len(found), np.int64), places + 1))
        times = np.concatenate((before, rows[TIME].to_numpy()))
        arranged = self._arrange(codes, sequence, times)
        order = arranged.order
        made = frames.running(self.functions, take(partials, order), arranged.places)
        last = np.flatnonzero(arranged.stop == np.arange(order.size) + 1)
        kept.remove(found)
        names = [*self.spec.partition, HASH]
        state = take(rows[:, names], first[codes[order[last]]]).hstack(
            take(made, last).get_columns()
        )
        kept.append(state.with_columns(pl.Series(TIME, times[order[last]])))
        more = self.rows_in(state) - int(number.sum())
        return Extended(take(made, _inverse(order)[len(found) :]), more)

    def rows_in(self, kept: pl.DataFrame) -> int:
        return int(kept[ROWS].sum())


def _places(codes: Ints) -> Ints:
    """The number of each row among those of its code, from 0."""
    order = time_order(codes)
    if order is None:
        order = np.arange(codes.size)
    ordered = codes[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(starts, codes.size))
    places = np.empty(codes.size, np.int64)
    places[order] = np.arange(codes.size) - np.repeat(starts, sizes)
    return places


def _inverse(order: Ints) -> Ints:
    inverse = np.empty(order.size, np.int64)
    inverse[order] = np.arange(order.size)
    return inverse
