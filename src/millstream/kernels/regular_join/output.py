"""What a regular join gives: pairs, and rows of one side; what is taken back comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.core.kernel import DELETE, INSERT, OP
from millstream.kernels.core.key_index import Ints
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.regular_join.sides import Side
from millstream.kernels.state.sorted_rows import Rows, take


class Out:
    """Of one step."""

    def __init__(
        self,
        spec: RegularJoinSpec,
        sides: tuple[Side, Side],
        types: Mapping[str, Any],
        counts: dict[str, int],
    ) -> None:
        self._spec, self._sides, self._types = spec, sides, types
        self._counts = counts
        self._back: list[pl.DataFrame] = []
        self._told: list[pl.DataFrame] = []

    def pairs(self, frame: pl.DataFrame, *, told: bool) -> None:
        """Pairs that are told, or taken back."""
        self._put(frame, "matches", told)

    def rows(self, side: Side, rows: Rows, numbers: Ints, *, told: bool) -> None:
        """Rows of a side: told as they are without a partner, or of a join that gives the left side
        alone."""
        if numbers.size:
            self.frame(side, take(rows.frame[:, list(side.plain.output)], numbers), told=told)

    def frame(self, side: Side, frame: pl.DataFrame, *, told: bool) -> None:
        mine = frame[:, list(side.plain.output)]
        if not self._spec.how.left_only:
            names = self._sides[1 - side.number].plain.output
            nulls = [pl.Series(name, [None], self._types.get(name, pl.Null)) for name in names]
            columns = [one.new_from_index(0, mine.height) for one in nulls]
            both = (mine.get_columns(), columns)
            mine = pl.DataFrame([*both[side.number], *both[1 - side.number]])
        self._put(mine, "matches" if side.told_if_met else "unmatched", told)

    def _put(self, frame: pl.DataFrame, what: str, told: bool) -> None:
        if not frame.height:
            return
        self._counts[what if told else "retractions"] += frame.height
        if self._spec.retracts:
            op = INSERT if told else DELETE
            frame = frame.with_columns(pl.lit(op, pl.Int8).alias(OP))
        (self._told if told else self._back).append(frame)

    @property
    def main(self) -> list[pl.DataFrame]:
        return [*self._back, *self._told]
