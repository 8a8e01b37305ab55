"""What a temporal join gives: rows beside the version they met, or alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import StepResult
from millstream.kernels.core.key_index import Bools
from millstream.kernels.core.specs import TemporalJoinSpec
from millstream.kernels.state.sorted_rows import take
from millstream.kernels.state.time_search import Met, Part, gather
from millstream.values import JoinType


class Out:
    """Of one step. A row without a version comes out if the join keeps such rows."""

    def __init__(
        self, spec: TemporalJoinSpec, types: Mapping[str, Any], counts: dict[str, int]
    ) -> None:
        self.result = StepResult()
        self.counts = counts
        self._spec = spec
        self._types = types

    def met(self, rows: pl.DataFrame, parts: Sequence[Part], met: Met) -> None:
        """Rows that met a version, with it. The others do not come out."""
        if met.found.any():
            who, versions = gather(parts, met, self._spec.right_columns)
            self.beside(take(self._left(rows), who), versions.get_columns())

    def beside(self, rows: pl.DataFrame, versions: Sequence[pl.Series]) -> None:
        """Rows with the columns of their versions."""
        if rows.height:
            self.counts["matches"] += rows.height
            self.result.main.append(self._left(rows).hstack(list(versions)))

    def alone(self, rows: pl.DataFrame, which: Bools | None = None) -> None:
        """Rows that met nothing, or those of them that `which` marks."""
        if self._spec.how is not JoinType.LEFT or (which is not None and not which.any()):
            return
        mine = self._left(rows)
        if which is not None and not which.all():
            mine = take(mine, np.flatnonzero(which))
        if mine.height:
            self.counts["unmatched"] += mine.height
            names = self._spec.right_columns
            nulls = [pl.Series(name, [None], self._types.get(name, pl.Null)) for name in names]
            columns = [one.new_from_index(0, mine.height) for one in nulls]
            self.result.main.append(mine.hstack(columns))

    def _left(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows[:, list(self._spec.left_columns)]
