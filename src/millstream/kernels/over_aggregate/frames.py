"""Aggregates over frames of rows, made of partial results: what the accumulators can merge, a frame
can hold, with the same NULLs, types and overflows.

A frame of w rows is put together from runs of 1, 2, 4, … rows, each made of two of half its length:
log w rounds, each for all rows at once. For frames without end, neighbours become one, the prefixes
of that half as long sequence are found, and the rows between get other_rows: two merges a row,
however long the partitions are.
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
    """A partial a row."""
    numbered = rows.rechunk().with_columns(pl.Series(NUMBER, np.arange(rows.height)))
    return functions.fold(numbered, [NUMBER]).sort(NUMBER).drop(NUMBER)


def sliding(
    functions: Accumulators, partials: pl.DataFrame, places: Ints, width: int
) -> pl.DataFrame:
    """For each row, it and up to `width - 1` before it. Rows lie partition by partition, and
    `places` are other_rows in it, from 0."""
    longest = int(places.max(initial=0)) + 1
    width = min(width, longest)
    power, length = partials, 1  # `power` ends at each row and is `length` long, or as there are
    made: pl.DataFrame | None = None
    reach = 0  # how many rows `made` holds
    while True:
        if width & length:
            if made is None:
                made = power
            else:
                rows = np.flatnonzero(places >= reach)
                made = _merged_at(functions, made, rows, take(power, rows - reach))
            reach += length
        if 2 * length > width:
            break
        rows = np.flatnonzero(places >= length)
        power = _merged_at(functions, power, rows, take(power, rows - length))
        length *= 2
    assert made is not None
    return made


def running(functions: Accumulators, partials: pl.DataFrame, places: Ints) -> pl.DataFrame:
    """For each row, it and all before it in its partition."""
    odd = np.flatnonzero(places % 2 == 1)
    if not odd.size:
        return partials
    pairs = merge_pairs(functions, take(partials, odd - 1), take(partials, odd))
    upto = running(functions, pairs, places[odd] // 2)
    order = np.arange(partials.height)
    order[odd] = partials.height + np.arange(odd.size)
    made = take(stack_contiguous([partials, upto]), order)
    even = np.flatnonzero((places % 2 == 0) & (places > 0))
    return _merged_at(functions, made, even, take(made, even - 1))


def merge_pairs(functions: Accumulators, older: pl.DataFrame, newer: pl.DataFrame) -> pl.DataFrame:
    """Row by row one partial of two."""
    number = pl.Series(NUMBER, np.arange(older.height))
    both = stack_contiguous([older.with_columns(number), newer.with_columns(number)])
    return functions.merge(both, [NUMBER]).sort(NUMBER).drop(NUMBER)


def _merged_at(
    functions: Accumulators, partials: pl.DataFrame, rows: Ints, older: pl.DataFrame
) -> pl.DataFrame:
    """The partials, those in `rows` with what lies before them."""
    if not rows.size:
        return partials
    merged = merge_pairs(functions, older, take(partials, rows))
    order = np.arange(partials.height)
    order[rows] = partials.height + np.arange(rows.size)
    return take(stack_contiguous([partials, merged]), order)


def stack_contiguous(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """One below the other, and in one piece: `max_by` of reversed columns in several is wrong in
    Polars 2.1."""
    names = frames[0].columns
    return pl.concat([frame[:, names] for frame in frames], how="vertical_relaxed", rechunk=True)
