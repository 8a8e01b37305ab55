"""The output of a temporal join: rows with their version, and unmatched rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.kernel import StepResult
from millstream.kernels.core.key_index import Bools
from millstream.kernels.core.specs import TemporalJoinSpec
from millstream.kernels.state.time_search import RowSet, VersionMatches, gather
from millstream.values import JoinType


class Output:
    """Collects the output of one step. LEFT joins emit unmatched rows."""

    def __init__(
        self, spec: TemporalJoinSpec, types: Mapping[str, Any], counts: dict[str, int]
    ) -> None:
        self.result = StepResult()
        self.counts = counts
        self._spec = spec
        self._types = types

    def matched(self, rows: pl.DataFrame, parts: Sequence[RowSet], matched: VersionMatches) -> None:
        """Emits rows that matched a version, with it. Other rows are ignored."""
        if matched.found.any():
            who, versions = gather(parts, matched, self._spec.right_columns)
            self.with_versions(take(self._left(rows), who), versions.get_columns())

    def with_versions(self, rows: pl.DataFrame, versions: Sequence[pl.Series]) -> None:
        """Emits rows with the columns of their versions."""
        if rows.height:
            self.counts["matches"] += rows.height
            self.result.main.append(self._left(rows).hstack(list(versions)))

    def unmatched(self, rows: pl.DataFrame, which: Bools | None = None) -> None:
        """Emits unmatched rows, or those for which `which` is true."""
        if self._spec.how is not JoinType.LEFT or (which is not None and not which.any()):
            return
        own_rows = self._left(rows)
        if which is not None and not which.all():
            own_rows = take(own_rows, np.flatnonzero(which))
        if own_rows.height:
            self.counts["unmatched"] += own_rows.height
            names = self._spec.right_columns
            nulls = [pl.Series(name, [None], self._types.get(name, pl.Null)) for name in names]
            columns = [one.new_from_index(0, own_rows.height) for one in nulls]
            self.result.main.append(own_rows.hstack(columns))

    def _left(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows[:, list(self._spec.left_columns)]
