"""Rows in memory, in time order, with a key index."""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, time_order


class Rows:
    """A frame in time order with its key index and, for some operators, match flags.

    Flags are the only part that changes. `flags_version` identifies their current state, so that a
    retried batch does not mistake flags set by its first attempt for those of the store. The index
    is built on demand: the next step may run in another worker.
    """

    __slots__ = ("_content", "_index", "flags_version", "frame", "matched", "times")

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
        self.flags_version = 0
        self._index = index
        self._content: pl.DataFrame | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, matched: Bools | None = None) -> Rows:
        """Sorts a frame with `_t` and `_h`, neither with NULLs."""
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
        """The columns other than time and hash."""
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
        """Returns the number of rows older than `time`."""
        return int(np.searchsorted(self.times, time))

    def select(self, start: int, without: Bools | None = None) -> Rows:
        """Returns the rows from `start` on, except those for which `without` is true."""
        if start == 0 and (without is None or not without.any()):
            return self
        keep = np.ones(len(self), np.bool_) if without is None else ~without
        keep[:start] = False
        matched = None if self.matched is None else self.matched[keep]
        index = None if self._index is None else self._index.filter(keep)
        return Rows(take(self.frame, np.flatnonzero(keep)), self.times[keep], matched, index)

    @property
    def nbytes(self) -> int:
        flags = 0 if self.matched is None else self.matched.nbytes
        index = KeyIndex.bytes_a_row * len(self)  # it will be built
        return int(self.frame.estimated_size()) + index + flags
