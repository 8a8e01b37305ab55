"""Aggregates over frames of rows, computed by merging partial results.

All functions with mergeable accumulators are supported, with the same NULLs, types and overflows.

A frame of w rows is assembled from runs of 1, 2, 4, … rows, each merged from two of half its
length: log w rounds, each for all rows at once. For unbounded frames, neighbours are merged, the
prefixes of that sequence of half the length are computed, and the rows in between are derived from
them: two merges per row, however long the partitions are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from millstream.kernels.accumulators.columns import Accumulators
from millstream.kernels.core.frames import take
from millstream.kernels.core.key_index import Ints

NUMBER = "_i"


def fold_each(functions: Accumulators, rows: pl.DataFrame) -> pl.DataFrame:
    """Folds each row into a partial result."""
    numbered = rows.rechunk().with_columns(pl.Series(NUMBER, np.arange(rows.height)))
    return functions.fold(numbered, [NUMBER]).sort(NUMBER).drop(NUMBER)


def sliding(
    functions: Accumulators, partials: pl.DataFrame, places: Ints, width: int
) -> pl.DataFrame:
    """Returns the result of each row with up to `width - 1` rows before it.

    Rows are sorted by partition; `places` are their places in it, from 0.
    """
    longest = int(places.max(initial=0)) + 1
    width = min(width, longest)
    # `power` covers the `length` rows that end at each row, or all there are
    power, length = partials, 1
    result: pl.DataFrame | None = None
    reach = 0  # the number of rows that `result` covers
    while True:
        if width & length:
            if result is None:
                result = power
            else:
                rows = np.flatnonzero(places >= reach)
                result = _merged_at(functions, result, rows, take(power, rows - reach))
            reach += length
        if 2 * length > width:
            break
        rows = np.flatnonzero(places >= length)
        power = _merged_at(functions, power, rows, take(power, rows - length))
        length *= 2
    assert result is not None
    return result


def running(functions: Accumulators, partials: pl.DataFrame, places: Ints) -> pl.DataFrame:
    """Returns the result of each row with all rows before it in its partition."""
    odd = np.flatnonzero(places % 2 == 1)
    if not odd.size:
        return partials
    pairs = merge_pairs(functions, take(partials, odd - 1), take(partials, odd))
    upto = running(functions, pairs, places[odd] // 2)
    order = np.arange(partials.height)
    order[odd] = partials.height + np.arange(odd.size)
    result = take(stack_contiguous([partials, upto]), order)
    even = np.flatnonzero((places % 2 == 0) & (places > 0))
    return _merged_at(functions, result, even, take(result, even - 1))


def merge_pairs(functions: Accumulators, older: pl.DataFrame, newer: pl.DataFrame) -> pl.DataFrame:
    """Merges two frames of partial results row by row."""
    number = pl.Series(NUMBER, np.arange(older.height))
    both = stack_contiguous([older.with_columns(number), newer.with_columns(number)])
    return functions.merge(both, [NUMBER]).sort(NUMBER).drop(NUMBER)


def _merged_at(
    functions: Accumulators, partials: pl.DataFrame, rows: Ints, older: pl.DataFrame
) -> pl.DataFrame:
    """Returns the partial results with those in `rows` merged with `older`."""
    if not rows.size:
        return partials
    merged = merge_pairs(functions, older, take(partials, rows))
    order = np.arange(partials.height)
    order[rows] = partials.height + np.arange(rows.size)
    return take(stack_contiguous([partials, merged]), order)


def stack_contiguous(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenates frames into one chunk: `max_by` of reversed columns is wrong on several chunks
    in Polars 2.1."""
    names = frames[0].columns
    return pl.concat([frame[:, names] for frame in frames], how="vertical_relaxed", rechunk=True)
