"""Rows in memory, in time order with their index."""

from __future__ import annotations

from functools import reduce

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, time_order

FEW_ROWS = 4096


class Rows:
    """A frame in time order, its index and, where an operator keeps them, its rows' marks.

    Marks are the one thing that changes; `marks` names the state they are in, so that a batch which
    is tried again sees that marks made by its first try are not those of the store. The index is
    made when it is asked for: rows that are held may next be read by another worker.
    """

    __slots__ = ("_content", "_index", "frame", "marks", "matched", "times")

    def __init__(
        self,
        frame: pl.DataFrame,
        times: Ints,
        matched: Bools | None,
        index: KeyIndex | None = None,
    ) -> None:
        self.frame = frame
        self.times = times
        self.matched = matched
        self.marks = 0
        self._index = index
        self._content: pl.DataFrame | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, matched: Bools | None = None) -> Rows:
        """Of a frame with `_t` and `_h`, neither with NULLs, in any order."""
        times = frame[TIME].to_numpy()
        order = time_order(times)
        if order is not None:
            frame, times = take(frame, order), times[order]
            matched = None if matched is None else matched[order]
        return cls(frame, times, matched)

    def __len__(self) -> int:
        return self.frame.height

    @property
    def content(self) -> pl.DataFrame:
        """The columns apart from the fixed ones, which the index stands for."""
        if self._content is None:
            names = [name for name in self.frame.columns if name not in {TIME, HASH}]
            self._content = self.frame[:, names]
        return self._content

    @property
    def index(self) -> KeyIndex:
        if self._index is None:
            self._index = KeyIndex.of(self.frame[HASH].to_numpy(), self.times)
        return self._index

    def rows_before(self, time: int) -> int:
        """How many rows are older than `time`."""
        return int(np.searchsorted(self.times, time))

    def only(self, start: int, without: Bools | None = None) -> Rows:
        """The rows from `start` on but for those that `without` marks."""
        if start == 0 and (without is None or not without.any()):
            return self
        keep = np.ones(len(self), np.bool_) if without is None else ~without
        keep[:start] = False
        matched = None if self.matched is None else self.matched[keep]
        index = None if self._index is None else self._index.only(keep)
        return Rows(take(self.frame, np.flatnonzero(keep)), self.times[keep], matched, index)

    @property
    def nbytes(self) -> int:
        marks = 0 if self.matched is None else self.matched.nbytes
        index = KeyIndex.bytes_a_row * len(self)  # it will be asked for
        return int(self.frame.estimated_size()) + index + marks


def take(frame: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """Rows by number. For few, Polars' thread pool costs more than the work: go by column."""
    numbers = pl.Series(rows.astype(np.uint32))
    if rows.size > FEW_ROWS:
        return frame[numbers]
    return pl.DataFrame([column[numbers] for column in frame.get_columns()])


def stack(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Frames one below the other, as chunks."""
    return reduce(pl.DataFrame.vstack, frames)
