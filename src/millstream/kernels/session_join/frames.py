"""Frames put together by column: for few rows Polars' thread pool costs more than the work."""

from __future__ import annotations

import polars as pl

from millstream.kernels.state.sorted_rows import FEW_ROWS, stack


def with_columns(frame: pl.DataFrame, *columns: pl.Series) -> pl.DataFrame:
    """The frame with these columns, in place of its own of their names or after them."""
    every = {column.name: column for column in (*frame.get_columns(), *columns)}
    return pl.DataFrame(list(every.values()))


def whole(frame: pl.DataFrame) -> pl.DataFrame:
    """The same in one piece."""
    if max(frame.n_chunks("all"), default=1) == 1:
        return frame
    if frame.height > FEW_ROWS:
        return frame.rechunk()
    return pl.DataFrame([column.rechunk() for column in frame.get_columns()])


def stacked(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return frames[0] if len(frames) == 1 else whole(stack(frames))
