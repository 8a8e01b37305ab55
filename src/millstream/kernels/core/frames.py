"""Row selection and concatenation of Polars frames.

For few rows Polars' thread pool costs more than the work, so small frames are processed column by
column.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import polars as pl

from millstream.kernels.core.key_index import Bools, Ints

FEW_ROWS = 4096


def take(frame: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """Returns rows by number, in the given order."""
    numbers = pl.Series(rows.astype(np.uint32))
    if rows.size > FEW_ROWS:
        return frame[numbers]
    return pl.DataFrame([column[numbers] for column in frame.get_columns()])


def filter_rows(frame: pl.DataFrame, keep: Bools) -> pl.DataFrame:
    """Returns the rows for which `keep` is true."""
    return frame if keep.all() else take(frame, np.flatnonzero(keep))


def split(rows: pl.DataFrame, flags: Bools) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows for which `flags` is true, and the others."""
    if flags.all():
        return rows, rows.clear()
    return take(rows, np.flatnonzero(flags)), take(rows, np.flatnonzero(~flags))


def with_columns(frame: pl.DataFrame, *columns: pl.Series) -> pl.DataFrame:
    """Returns the frame with these columns; they replace columns with the same name."""
    every = {column.name: column for column in (*frame.get_columns(), *columns)}
    return pl.DataFrame(list(every.values()))


def stack(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Concatenates frames without copying: the result has several chunks."""
    return reduce(pl.DataFrame.vstack, frames)


def single_chunk(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the same rows in one chunk per column."""
    if max(frame.n_chunks("all"), default=1) == 1:
        return frame
    if frame.height > FEW_ROWS:
        return frame.rechunk()
    return pl.DataFrame([column.rechunk() for column in frame.get_columns()])


def stack_rechunked(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Concatenates frames into one chunk per column."""
    return frames[0] if len(frames) == 1 else single_chunk(stack(frames))
