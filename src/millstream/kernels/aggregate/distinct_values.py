"""The distinct values of groups, stored in a table of their own.

A row has the number of a group, a value (in the column of its argument) and bits: the calls that
have counted it. It expires when its group does.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.kernels.accumulators.distinct_count import Argument
from millstream.kernels.core.frames import take
from millstream.kernels.core.hashing import hashes, mix_bits
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Ints
from millstream.kernels.state.keyed_table import RowMatches, Tables, TableSpec
from millstream.temporal import BEGIN_OF_TIME

GROUP = "_id"  # the number of a group, unique while it is in state
VALUES = TableSpec((GROUP,))
_NUMBERED = "groups"  # the count of group numbers that were assigned
_BITS = "_bits"
_AT = "_at"  # the row of the partial results


class DistinctValues:
    """The distinct values of one key group's groups, for one step."""

    def __init__(self, tables: Tables, arguments: tuple[Argument, ...], *, windowed: bool) -> None:
        self._table = tables[1]
        self._counts = tables.counts
        self._arguments = arguments
        self._windowed = windowed

    def count(self, new: pl.DataFrame, found: RowMatches, live_from: int) -> pl.DataFrame:
        """Replaces lists of values in partial results with the numbers of values that are new to
        their group.

        `found` are the groups in state. Stores the new values of groups that stay in state.
        """
        arguments = [each for each in self._arguments if each.values in new.columns]
        new = new.with_columns(pl.Series(GROUP, self._groups(new.height, found)))
        if not arguments:
            return new
        values = self._values(new, arguments)
        counted = self._store_new(values, live_from)
        at = values[_AT].to_numpy()
        columns = []
        for each in arguments:
            own = values[each.name].is_not_null().to_numpy()
            for bit, name in enumerate(each.count_columns):
                fresh = own & ((counted >> bit) & 1).astype(np.bool_)
                count = np.bincount(at[fresh], minlength=new.height)
                columns.append(pl.Series(name, count, pl.Int64))
        lists = [name for each in arguments for name in (each.values, each.bits)]
        return new.drop(lists).with_columns(columns)

    def expire(self, time: int) -> None:
        if self._windowed:
            self._table.expire(time)

    def _groups(self, height: int, found: RowMatches) -> Ints:
        groups = np.full(height, -1, np.int64)
        if len(found):
            groups[found.new] = found.rows([GROUP])[GROUP].to_numpy()
        fresh = np.flatnonzero(groups < 0)
        first = self._counts.get(_NUMBERED, 0)
        groups[fresh] = np.arange(first, first + fresh.size)
        self._counts[_NUMBERED] = first + int(fresh.size)
        return groups

    def _values(self, new: pl.DataFrame, arguments: list[Argument]) -> pl.DataFrame:
        """Returns one row per value of each group, with the columns of the table."""
        time = pl.col(TIME) if self._windowed else pl.lit(BEGIN_OF_TIME).alias(TIME)
        groups = new.with_row_index(_AT)
        frames = []
        for number, each in enumerate(arguments):
            rows = (
                groups.select(_AT, GROUP, time, each.values, each.bits)
                .filter(pl.col(each.values).list.len() > 0)
                .explode(each.values, each.bits)
                .rename({each.values: each.name, each.bits: _BITS})
            )
            if not rows.height:
                # No rows; keeps the column's type.
                frames.append(rows.with_columns(pl.lit(0, pl.Int64).alias(HASH)))
                continue
            distinct = rows.group_by(_AT, each.name).agg(
                pl.col(GROUP).first(), pl.col(TIME).first(), pl.col(_BITS).bitwise_or()
            )
            own = hashes(distinct[each.name]) ^ mix_bits(
                distinct[GROUP].to_numpy().view(np.uint64) + np.uint64(number << 48)
            )
            frames.append(distinct.with_columns(pl.Series(HASH, mix_bits(own).view(np.int64))))
        return pl.concat(frames, how="diagonal")

    def _store_new(self, values: pl.DataFrame, live_from: int) -> Ints:
        """Stores the values; returns the bits of each value that are new."""
        bits = values[_BITS].to_numpy()
        found = self._find(values)
        had = np.zeros(values.height, np.int64)
        if len(found):
            had[found.new] = found.rows([_BITS])[_BITS].to_numpy()
        counted = bits & ~had
        changed = counted != 0
        self._table.remove(found.filter(changed[found.new]))
        if self._windowed:
            changed &= values[TIME].to_numpy() >= live_from
        stored = values.with_columns(pl.Series(_BITS, had | bits)).drop(_AT)
        columns = [GROUP, *self._names(values), _BITS, TIME, HASH]
        self._table.append(stored[:, columns].filter(changed), live_from)
        return counted

    def _find(self, values: pl.DataFrame) -> RowMatches:
        """Finds the stored rows of these values."""
        found = self._table.probe(values, *((0, 0) if self._windowed else ()))
        if not len(found):
            return found
        names = self._names(values)
        stored, looked_up = found.rows(names), take(values[:, names], found.new)
        same = np.ones(len(found), np.bool_)
        for name in names:
            same &= stored[name].eq_missing(looked_up[name]).to_numpy()
        return found.filter(same)

    def _names(self, values: pl.DataFrame) -> list[str]:
        """Returns the value columns, which are the same in all batches."""
        return [each.name for each in self._arguments if each.name in values.columns]
