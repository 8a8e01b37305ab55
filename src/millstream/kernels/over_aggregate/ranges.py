"""Aggregates over ranges of rows with numpy: each frame is computed from its own rows.

Rows are sorted by partition; the frame of row i is [start[i], stop[i]). Sums are in row order, as
in Spark, and a NaN or an infinity has no effect after it has left the frame. Other types and
functions (decimals, strings, sketches, …) use partial results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.specs import CallSpec

Array = npt.NDArray[Any]
_SPREAD = ("stddev_samp", "stddev_pop", "var_samp", "var_pop")
_EXPANDED = 4_000_000  # pairs of a frame and a row in it, created at a time
_BIGINT = 2**63


class Ranges:
    """Frames over one set of rows."""

    def __init__(self, rows: pl.DataFrame, starts: Ints, stops: Ints) -> None:
        self.rows, self.starts, self.stops = rows, starts, stops

    def value(self, call: CallSpec, ansi: bool) -> pl.Series | None:
        """Computes one value per frame; returns None if the function or type is not supported."""
        counted = self._counted(call)
        if call.function == "count":
            return pl.Series(call.name, self._count(counted))
        if call.argument is None:
            return None
        column = self.rows[call.argument]
        if call.function in {"first", "last"}:
            return self._pick(call, column)
        if call.function == "count_distinct" and not column.dtype.is_nested():
            return pl.Series(call.name, self._distinct(column, counted))
        if call.function in {"min", "max"} and (column.dtype.is_temporal()):
            result = self._number(call, column.to_physical(), counted, ansi)
            return None if result is None else result.cast(column.dtype)
        if not (column.dtype.is_integer() or column.dtype.is_float()) or _too_wide(column.dtype):
            return None
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are ordinary values
            return self._number(call, column, counted, ansi)

    def _number(
        self, call: CallSpec, column: pl.Series, counted: Bools, ansi: bool
    ) -> pl.Series | None:
        whole = column.dtype.is_integer()
        values = column.fill_null(0).cast(pl.Int64 if whole else pl.Float64).to_numpy()
        counts = self._count(counted)
        if call.function == "sum":
            if whole and ansi and self._may_overflow(values, counts):
                return None
            result = self._reduced(np.add, np.where(counted, values, 0))
        elif call.function == "avg":
            result = self._mean(values, counted, counts)
        elif call.function in {"min", "max"}:
            result = self._extreme(call.function, values, counted)
        elif call.function in _SPREAD:
            result = self._spread(call.function, values, counted, counts)
            counts = counts - (1 if call.function.endswith("samp") else 0)
        else:
            return None
        series = pl.Series(call.name, result)
        if call.function in {"min", "max"}:
            series = series.cast(column.dtype)
        return series if (counts > 0).all() else series.set(pl.Series(counts <= 0), None)

    def _counted(self, call: CallSpec) -> Bools:
        """Returns the rows that a function aggregates: the argument is not NULL, and the filter is
        true."""
        counted = np.ones(self.rows.height, np.bool_)
        if call.argument is not None:
            counted &= self.rows[call.argument].is_not_null().to_numpy()
        if call.filter is not None:
            counted &= self.rows[call.filter].fill_null(False).to_numpy()
        return counted

    def _count(self, counted: Bools) -> Ints:
        upto = np.zeros(counted.size + 1, np.int64)
        np.cumsum(counted, out=upto[1:])
        return upto[self.stops] - upto[self.starts]

    def _reduced(self, function: Any, values: Array) -> Array:
        padded = np.append(values, values[:1])  # a range may end at the end of the rows
        ends = np.empty(2 * self.starts.size, np.int64)
        ends[::2], ends[1::2] = self.starts, self.stops
        result: Array = function.reduceat(padded, ends)[::2]
        return result

    def _mean(self, values: Array, counted: Bools, counts: Ints) -> Array:
        total = self._reduced(np.add, np.where(counted, values, 0).astype(np.float64))
        mean: Array = total / np.maximum(counts, 1)
        return mean

    def _extreme(self, name: str, values: Array, counted: Bools) -> Array:
        """Computes min or max. NaN is greater than all numbers, so it is the minimum only if there
        are no others."""
        if values.dtype.kind == "f":
            least, most = np.nan, -np.inf
        else:
            least, most = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        if name == "min":
            return self._reduced(np.fmin, np.where(counted, values, least))
        return self._reduced(np.maximum, np.where(counted, values, most))

    def _spread(self, name: str, values: Array, counted: Bools, counts: Ints) -> Array:
        mean = self._mean(values, counted, counts)
        squares = np.zeros(self.starts.size)
        for frames, rows, sizes in self._expanded():
            off = np.where(counted[rows], values[rows] - np.repeat(mean[frames], sizes), 0.0)
            squares[frames] = np.add.reduceat(off * off, np.cumsum(sizes) - sizes)
        result: Array = squares / np.maximum(counts - (1 if name.endswith("samp") else 0), 1)
        return np.sqrt(result) if name.startswith("stddev") else result

    def _distinct(self, column: pl.Series, counted: Bools) -> Ints:
        """Counts the values whose previous occurrence is outside the frame."""
        codes = _codes(column)
        rows = np.flatnonzero(counted)
        order = rows[np.argsort(codes[rows], kind="stable")]
        previous = np.full(column.len(), -1)
        same = codes[order[1:]] == codes[order[:-1]]
        previous[order[1:][same]] = order[:-1][same]
        counts = np.zeros(self.starts.size, np.int64)
        for frames, inside, sizes in self._expanded():
            new = counted[inside] & (previous[inside] < np.repeat(self.starts[frames], sizes))
            counts[frames] = np.add.reduceat(new.astype(np.int64), np.cumsum(sizes) - sizes)
        return counts

    def _expanded(self) -> Iterator[tuple[slice, Ints, Ints]]:
        """Yields frames, the rows in them one after another, and the number of rows of each."""
        sizes = self.stops - self.starts
        step = max(_EXPANDED // max(int(sizes.max(initial=1)), 1), 1)
        for first in range(0, sizes.size, step):
            frames = slice(first, first + step)
            ends = np.cumsum(sizes[frames])
            offsets = np.repeat(self.starts[frames] - (ends - sizes[frames]), sizes[frames])
            yield frames, np.arange(ends[-1]) + offsets, sizes[frames]

    def _pick(self, call: CallSpec, column: pl.Series) -> pl.Series:
        there = self._counted(call)
        if not call.ignore_nulls:
            there = self._counted(CallSpec("count", call.name, None, call.filter))
        numbers = np.arange(column.len())
        if call.function == "first":
            following = np.where(there, numbers, column.len())
            rows = np.minimum.accumulate(following[::-1])[::-1][self.starts]
            found = rows < self.stops
        else:
            rows = np.maximum.accumulate(np.where(there, numbers, -1))[self.stops - 1]
            found = rows >= self.starts
        chosen = pl.Series(rows).set(pl.Series(~found), None)
        return column.gather(chosen).alias(call.name)

    def _may_overflow(self, values: Array, counts: Ints) -> bool:
        if not values.size:
            return False
        greatest = max(-int(values.min()), int(values.max()), 1)
        return greatest * int(counts.max(initial=0)) >= _BIGINT


def _codes(column: pl.Series) -> Ints:
    """Returns a number for each value, equal for equal values."""
    if column.dtype.is_integer() and not _too_wide(column.dtype):
        return column.fill_null(0).cast(pl.Int64).to_numpy()
    numbered = pl.DataFrame([column.alias("v")]).with_row_index("i")
    return numbered.select(pl.col("i").first().over("v").cast(pl.Int64))["i"].to_numpy()


def _too_wide(kind: Any) -> bool:
    return kind in {pl.UInt64, pl.Int128, pl.UInt128}
