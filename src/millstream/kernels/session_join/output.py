"""The output of a session join: pairs of rows of overlapping sessions, and unmatched rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.kernels.core import key_index as index
from millstream.kernels.core.frames import take
from millstream.kernels.core.kernel import StepResult
from millstream.kernels.core.key_index import Ints
from millstream.kernels.core.specs import WINDOW_END, WINDOW_START, SessionJoinSpec
from millstream.kernels.session_join.search import expand
from millstream.kernels.session_join.session_rows import Ranges, RowsBySession

Numbers = npt.NDArray[np.uint32]


class Windows(NamedTuple):
    """The time of the first row and the end of sessions, or of pairs of sessions."""

    start: Ints
    end: Ints


class Output:
    """Collects the output of one step."""

    def __init__(
        self, spec: SessionJoinSpec, types: Mapping[str, Any], counts: dict[str, int]
    ) -> None:
        self.result = StepResult()
        self.counts = counts
        self._types = types
        right = () if spec.how.left_only else spec.right_columns
        self.columns = (spec.left_columns, right)

    def pairs(
        self,
        left: RowsBySession,
        right: RowsBySession,
        own_rows: Ints,
        other_rows: Ints,
        windows: Windows,
    ) -> None:
        """Emits every row of a left session with every row of a right one.

        `own_rows` and `other_rows` are the sessions of each pair.
        """
        for some in cross(left.ranges, right.ranges, own_rows, other_rows):
            here = np.repeat(some.row.astype(np.uint32), some.sizes)
            combined = _take(left.frame, here).hstack(_take(right.frame, some.there).get_columns())
            self.counts["matches"] += combined.height
            start, end = windows.start[some.pair], windows.end[some.pair]
            self._put(combined, _repeated(Windows(start, end), some.sizes))

    def row_pairs(self, left: pl.DataFrame, right: pl.DataFrame, windows: Windows) -> None:
        """Emits pairs of rows."""
        self.counts["matches"] += left.height
        if left.height:
            self._put(left.hstack(right.get_columns()), windows)

    def matched_rows(self, rows: pl.DataFrame, windows: Windows) -> None:
        """Emits left rows that matched."""
        self.counts["matches"] += rows.height
        if rows.height:
            self._put(rows, windows)

    def left_rows(self, left: RowsBySession, windows: Windows) -> None:
        """Emits rows of left sessions that matched; `windows` are those of the sessions."""
        self.counts["matches"] += left.frame.height
        if left.frame.height:
            self._put(left.frame, _repeated(windows, left.ranges.sizes))

    def unmatched(self, side: int, rows: RowsBySession, windows: Windows) -> None:
        """Emits the rows of unmatched sessions."""
        self.unmatched_rows(side, rows.frame, _repeated(windows, rows.ranges.sizes))

    def unmatched_rows(self, side: int, rows: pl.DataFrame, windows: Windows) -> None:
        if not rows.height:
            return
        self.counts["unmatched"] += rows.height
        own_rows = rows[:, list(self.columns[side])].get_columns()
        nulls = [
            pl.Series(name, [None], self._types.get(name, pl.Null)).new_from_index(0, rows.height)
            for name in self.columns[1 - side]
        ]
        self._put(pl.DataFrame([*own_rows, *nulls] if side == 0 else [*nulls, *own_rows]), windows)

    def _put(self, rows: pl.DataFrame, windows: Windows) -> None:
        start, end = pl.Series(WINDOW_START, windows.start), pl.Series(WINDOW_END, windows.end)
        self.result.main.append(rows.hstack([start, end]))


def _take(frame: pl.DataFrame, numbers: Numbers) -> pl.DataFrame:
    return take(frame, cast("Ints", numbers))  # `take` accepts both and uses 32 bits


def _repeated(windows: Windows, sizes: Ints) -> Windows:
    return Windows(np.repeat(windows.start, sizes), np.repeat(windows.end, sizes))


class CrossProduct(NamedTuple):
    """Rows here, each with `sizes` rows there, and the pairs of sessions they belong to."""

    pair: Ints
    row: Ints
    sizes: Ints
    there: Numbers

    def all(self) -> tuple[Ints, Ints, Ints]:
        """Returns (pair, row here, row there), one for each combination."""
        one, two = np.repeat(self.pair, self.sizes), np.repeat(self.row, self.sizes)
        return one, two, self.there.astype(np.int64)


def cross(left: Ranges, right: Ranges, own_rows: Ints, other_rows: Ints) -> Iterator[CrossProduct]:
    """Yields, for each pair of sessions, every row with every row, in parts of limited size."""
    lefts = left.sizes[own_rows]
    pair = np.repeat(np.arange(own_rows.size), lefts)
    row = expand(left.starts[own_rows], lefts)
    rights, begin = right.sizes[other_rows][pair], right.starts[other_rows][pair]
    ends = np.cumsum(rights)
    start = 0
    while start < ends.size:
        made = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, made + index.MAX_PAIRS, side="right"))
        some = slice(start, max(stop, start + 1))
        start = some.stop
        if rights[some].any():
            there = _expand_small(begin[some], rights[some])
            yield CrossProduct(pair[some], row[some], rights[some], there)


def _expand_small(starts: Ints, sizes: Ints) -> Numbers:
    """As `expand`, with half the memory: intermediate values below 0 wrap around."""
    ends = np.cumsum(sizes)
    places = np.arange(int(ends[-1]), dtype=np.uint32)
    places += np.repeat((starts - (ends - sizes)).astype(np.uint32), sizes)
    return places
