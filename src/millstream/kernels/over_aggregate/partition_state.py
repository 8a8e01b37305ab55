"""The state of a partition between batches, and the aggregates of its new rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.accumulators.columns import ROWS, Accumulators
from millstream.kernels.core.frames import take
from millstream.kernels.core.grouping import group
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Ints, time_order
from millstream.kernels.core.specs import CallSpec, OverAggregateSpec
from millstream.kernels.over_aggregate import frames
from millstream.kernels.over_aggregate.ranges import Ranges
from millstream.kernels.state.keyed_table import RowMatches, Table

SEQUENCE = "_s"  # the number of a row in its partition


class Extension(NamedTuple):
    """The results of new rows, and the change of the partition state."""

    values: list[pl.Series]  # one column per call, one value per row
    more: int  # growth of the number of rows that the state represents


class _Arrangement(NamedTuple):
    """Rows sorted by partition and order.

    A partition that was idle for longer than its time to live has several parts; only the last
    continues.
    """

    order: Ints
    places: Ints  # in its part, from 0
    part_stop: Ints
    stop: Ints  # of its partition


class PartitionState:
    """The interface of partition states. The state of each partition is in a table."""

    def __init__(self, spec: OverAggregateSpec, types: Mapping[str, Any]) -> None:
        self.spec = spec
        self.types = types
        read = (name for call in spec.calls for name in (call.argument, call.filter, call.by))
        self.read = [name for name in dict.fromkeys(read) if name is not None]

    def extend(self, partitions: Table, rows: pl.DataFrame) -> Extension:
        """Returns the aggregates of `rows`, which are in time order, and adds them to the partition
        state."""
        raise NotImplementedError

    def rows_in(self, partitions: pl.DataFrame) -> int:
        """Returns how many rows partition state represents."""
        raise NotImplementedError

    def _find(self, partitions: Table, rows: pl.DataFrame, first: Ints) -> RowMatches:
        names = list(dict.fromkeys((*self.spec.partition, TIME, HASH)))
        return partitions.probe(take(rows[:, names], first))

    def _arrange(self, codes: Ints, sequence: Ints, times: Ints) -> _Arrangement:
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
        return _Arrangement(order, places, np.repeat(starts + sizes, sizes), stop)

    def _fold(self, functions: Accumulators, rows: pl.DataFrame, sequence: Ints) -> pl.DataFrame:
        """Folds each row. first and last use the row's number, which distinguishes equal times."""
        read = [rows[name] for name in self.read]
        return frames.fold_each(functions, pl.DataFrame([*read, pl.Series(TIME, sequence)]))


class LastRowsState(PartitionState):
    """Stores the last rows of a partition, as many as a frame needs."""

    def extend(self, partitions: Table, rows: pl.DataFrame) -> Extension:
        assert self.spec.preceding is not None
        codes, first = group(rows, self.spec.partition)
        found = self._find(partitions, rows, first)
        number = np.zeros(first.size, np.int64)
        names = list(dict.fromkeys((*self.spec.partition, *self.read)))
        if len(found):
            stored = found.rows([*names, SEQUENCE, TIME, HASH])
            np.maximum.at(number, found.new, stored[SEQUENCE].to_numpy() + 1)
        numbers = pl.Series(SEQUENCE, number[codes] + _places(codes))
        new = pl.DataFrame([*(rows[name] for name in names), numbers, rows[TIME], rows[HASH]])
        every = stored.vstack(new) if len(found) else new
        codes = np.concatenate((found.new, codes))
        sequence, times = every[SEQUENCE].to_numpy(), every[TIME].to_numpy()
        least = np.full(first.size, np.iinfo(np.int64).max)
        np.minimum.at(least, codes, sequence)
        arranged = self._arrange(codes, sequence - least[codes], times)
        order = arranged.order
        values = self._values(take(every, order), arranged, _inverse(order)[len(found) :])
        before = partitions.row_count
        self._store(partitions, found, every, codes, arranged)
        return Extension(values, partitions.row_count - before)

    def _values(self, every: pl.DataFrame, arranged: _Arrangement, wanted: Ints) -> list[pl.Series]:
        """Computes the aggregates of the rows `wanted`; `every` is arranged."""
        assert self.spec.preceding is not None
        places = np.sort(
            wanted
        )  # frames must be contiguous: `reduceat` also reads rows between two frames
        starts = places - np.minimum(arranged.places[places], self.spec.preceding)
        ranges = Ranges(every, starts, places + 1)
        values = {call.name: ranges.value(call, self.spec.ansi) for call in self.spec.calls}
        rest = tuple(call for call in self.spec.calls if values[call.name] is None)
        result = {}
        if rest:
            functions = Accumulators(rest, weighted=False, ansi=self.spec.ansi)
            partials = self._fold(functions, every, every[SEQUENCE].to_numpy())
            width = self.spec.preceding + 1
            framed = take(frames.sliding(functions, partials, arranged.places, width), places)
            result = {one.name: one for one in functions.finish(framed, self.types)}
        back = pl.Series(np.searchsorted(places, wanted))
        return [
            _typed(result.get(name, value), self.types.get(name)).gather(back)
            for name, value in values.items()
        ]

    def _store(
        self,
        partitions: Table,
        found: RowMatches,
        every: pl.DataFrame,
        codes: Ints,
        arranged: _Arrangement,
    ) -> None:
        assert self.spec.preceding is not None
        order = arranged.order
        left = arranged.stop - np.arange(order.size)
        stays = np.zeros(order.size, np.bool_)
        stays[order] = (left <= self.spec.preceding) & (arranged.part_stop == arranged.stop)
        if self.spec.ttl is not None:  # all rows of a partition expire with its last one
            last = np.zeros(int(codes.max()) + 1, np.int64)
            last[codes[order]] = every[TIME].to_numpy()[order]
            every = every.with_columns(pl.Series(TIME, last[codes]))
            partitions.remove(found)
            fresh = np.flatnonzero(stays)
        else:
            partitions.remove(found.filter(~stays[: len(found)]))
            fresh = np.flatnonzero(stays[len(found) :]) + len(found)
        if fresh.size:
            partitions.append(take(every, fresh))

    def rows_in(self, partitions: pl.DataFrame) -> int:
        return partitions.height


class RunningState(PartitionState):
    """Stores one partial result over all rows of a partition."""

    def __init__(self, spec: OverAggregateSpec, types: Mapping[str, Any]) -> None:
        super().__init__(spec, types)
        self._sets = [call for call in spec.calls if call.function == "count_distinct"]
        rest = [call for call in spec.calls if call.function != "count_distinct"]
        self.functions = Accumulators(rest, weighted=False, ansi=spec.ansi)

    def extend(self, partitions: Table, rows: pl.DataFrame) -> Extension:
        codes, first = group(rows, self.spec.partition)
        found = self._find(partitions, rows, first)
        number, places = np.zeros(first.size, np.int64), _places(codes)
        stored = found.rows() if len(found) else None
        if stored is not None:
            number[found.new] = stored[ROWS].to_numpy()
        partials = self._fold(self.functions, rows, number[codes] + places)
        times = rows[TIME].to_numpy()
        if stored is not None:
            partials = frames.stack_contiguous([stored[:, partials.columns], partials])
            times = np.concatenate((stored[TIME].to_numpy(), times))
        codes = np.concatenate((found.new, codes))
        sequence = np.concatenate((np.zeros(len(found), np.int64), places + 1))
        arranged = self._arrange(codes, sequence, times)
        order, place = arranged.order, _inverse(arranged.order)
        result = frames.running(self.functions, take(partials, order), arranged.places)
        parts = np.cumsum(arranged.places == 0) - 1
        new, old = place[len(found) :], place[: len(found)]
        counted = [
            _count_distinct(
                call, rows, new, None if stored is None else stored[_set_column(call)], old, parts
            )
            for call in self._sets
        ]

        last = np.flatnonzero(arranged.stop == np.arange(order.size) + 1)
        partitions.remove(found)
        state = take(rows[:, [*self.spec.partition, HASH]], first[codes[order[last]]])
        sets = [one.sets.gather(pl.Series(parts[last])) for one in counted]
        state = state.hstack([*take(result, last).get_columns(), *sets])
        partitions.append(state.with_columns(pl.Series(TIME, times[order[last]])))
        more = self.rows_in(state) - int(number.sum())
        return Extension(self._values(take(result, new), counted, new), more)

    def _values(
        self, result: pl.DataFrame, counted: list[_DistinctCounts], rows: Ints
    ) -> list[pl.Series]:
        columns = {one.name: one for one in self.functions.finish(result, self.types)}
        for one in counted:
            counts = one.counts.gather(pl.Series(rows))
            columns[counts.name] = _typed(counts, self.types.get(counts.name))
        return [columns[call.name] for call in self.spec.calls]

    def rows_in(self, partitions: pl.DataFrame) -> int:
        return int(partitions[ROWS].sum())


def _typed(values: pl.Series | None, kind: Any) -> pl.Series:
    assert values is not None
    return values if kind is None or values.dtype == kind else values.cast(kind)


def _places(codes: Ints) -> Ints:
    """Returns the number of each row among those with its code, from 0."""
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


_PART, _VALUE, _PLACE = "_part", "_value", "_place"


class _DistinctCounts(NamedTuple):
    """The running counts of COUNT(DISTINCT), and the distinct values of each part of a
    partition."""

    counts: pl.Series  # of each arranged row
    sets: pl.Series  # the values of each part of a partition


def _set_column(call: CallSpec) -> str:
    """Returns the state column with a partition's distinct values."""
    return f"set {call.name}"


def _count_distinct(
    call: CallSpec,
    rows: pl.DataFrame,
    at: Ints,
    stored: pl.Series | None,
    stored_at: Ints,
    parts: Ints,
) -> _DistinctCounts:
    """Counts distinct values over unbounded frames.

    A partition's state has the set of its values. The count of a row increases by one where its
    value occurs for the first time, so no row needs a set of its own. `parts` numbers the part of
    each place; rows and stored sets are at the places `at` and `stored_at`, and the set of a part
    is at its first place.
    """
    values = rows[str(call.argument)]
    seen = pl.DataFrame([values.alias(_VALUE), pl.Series(_PLACE, at)])
    if call.filter is not None:
        seen = seen.filter(rows[call.filter].fill_null(False))
    seen = seen.filter(pl.col(_VALUE).is_not_null()).sort(_PLACE)
    if stored is not None:
        sets = pl.DataFrame([stored.alias(_VALUE), pl.Series(_PLACE, stored_at)])
        known = sets.filter(pl.col(_VALUE).list.len() > 0).explode(_VALUE)
        seen = pl.concat([known, seen], rechunk=True)
    part = pl.Series(_PART, parts[seen[_PLACE].to_numpy()])
    seen = seen.with_columns(part).filter(pl.struct(_PART, _VALUE).is_first_distinct())

    more = np.bincount(seen[_PLACE].to_numpy(), minlength=parts.size)
    upto = np.cumsum(more)
    starts = np.flatnonzero(np.append(True, parts[1:] != parts[:-1]))
    before = (upto - more)[starts]
    counts = upto - np.repeat(before, np.diff(np.append(starts, parts.size)))
    every = pl.DataFrame([pl.Series(_PART, parts[starts])])
    sets = every.join(seen.group_by(_PART).agg(_VALUE), on=_PART, how="left", maintain_order="left")
    empty = pl.lit([], dtype=pl.List(values.dtype))
    return _DistinctCounts(
        pl.Series(call.name, counts.astype(np.int64)),
        sets.select(pl.col(_VALUE).fill_null(empty).alias(_set_column(call))).to_series(),
    )
