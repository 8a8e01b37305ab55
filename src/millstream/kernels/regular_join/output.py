"""The output of a regular join: pairs, and rows of one side; retractions come first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.kernel import DELETE, INSERT, OP
from millstream.kernels.core.key_index import Ints
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.regular_join.sides import Side
from millstream.kernels.state.sorted_rows import Rows


class Output:
    """Collects the output of one step."""

    def __init__(
        self,
        spec: RegularJoinSpec,
        sides: tuple[Side, Side],
        types: Mapping[str, Any],
        counts: dict[str, int],
    ) -> None:
        self._spec, self._sides, self._types = spec, sides, types
        self._counts = counts
        self._retractions: list[pl.DataFrame] = []
        self._inserts: list[pl.DataFrame] = []

    def pairs(self, frame: pl.DataFrame, *, insert: bool) -> None:
        """Emits or retracts pairs."""
        self._put(frame, "matches", insert)

    def rows(self, side: Side, rows: Rows, numbers: Ints, *, insert: bool) -> None:
        """Emits or retracts rows of a side: unmatched rows, or the rows of a join that returns only
        left rows."""
        if numbers.size:
            self.frame(side, take(rows.frame[:, list(side.base.output)], numbers), insert=insert)

    def frame(self, side: Side, frame: pl.DataFrame, *, insert: bool) -> None:
        own_rows = frame[:, list(side.base.output)]
        if not self._spec.how.left_only:
            names = self._sides[1 - side.number].base.output
            nulls = [pl.Series(name, [None], self._types.get(name, pl.Null)) for name in names]
            columns = [one.new_from_index(0, own_rows.height) for one in nulls]
            both = (own_rows.get_columns(), columns)
            own_rows = pl.DataFrame([*both[side.number], *both[1 - side.number]])
        self._put(own_rows, "matches" if side.emits_matched else "unmatched", insert)

    def _put(self, frame: pl.DataFrame, what: str, insert: bool) -> None:
        if not frame.height:
            return
        self._counts[what if insert else "retractions"] += frame.height
        if self._spec.retracts:
            op = INSERT if insert else DELETE
            frame = frame.with_columns(pl.lit(op, pl.Int8).alias(OP))
        (self._inserts if insert else self._retractions).append(frame)

    @property
    def main(self) -> list[pl.DataFrame]:
        return [*self._retractions, *self._inserts]
