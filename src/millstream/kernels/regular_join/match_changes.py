"""Held rows that won or lost partners in a step."""

from __future__ import annotations

import numpy as np

from millstream.kernels.core.key_index import Ints
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import Rows


class Touched:
    """Of one segment. A hot key has more pairs than rows: they are summed as they come."""

    def __init__(self, segment: Segment, rows: Rows) -> None:
        self.segment = segment
        self.rows = rows
        self._some: list[tuple[Ints, int]] = []
        self._all: Ints | None = None  # by row

    def add(self, numbers: Ints, by: int) -> None:
        """Rows by their numbers, which may repeat: each wins or loses so many."""
        size = len(self.rows)
        if self._all is None and 16 * numbers.size <= size:
            self._some.append((numbers, by))
            return
        if self._all is None:
            self._all = np.zeros(size, np.int64)
        self._all += by * np.bincount(numbers, minlength=size)

    def sums(self) -> tuple[Ints, Ints]:
        """Each row once, and what it won or lost; of one that did neither, nothing or 0."""
        if self._all is not None:
            for numbers, by in self._some:
                np.add.at(self._all, numbers, by)
            rows = np.flatnonzero(self._all)
            return rows, self._all[rows]
        numbers = np.concatenate([some for some, _ in self._some])
        by_row = np.repeat([by for _, by in self._some], [some.size for some, _ in self._some])
        rows, of = np.unique(numbers, return_inverse=True)
        return rows, np.bincount(of, by_row, minlength=rows.size).astype(np.int64)
