"""Results of aggregates: converts partial results into output rows, and emits what changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.accumulators.columns import Accumulators
from millstream.kernels.core.frames import filter_rows
from millstream.kernels.core.kernel import DELETE, INSERT, OP, TIME, UPDATE_AFTER, UPDATE_BEFORE
from millstream.kernels.core.key_index import Bools
from millstream.kernels.core.specs import (
    INHERITED_START,
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    AggregateSpec,
)
from millstream.temporal import WindowKind


class Results:
    """Collects the output of one step. A group whose rows have been retracted has no result."""

    def __init__(
        self, spec: AggregateSpec, folding: Accumulators, types: Mapping[str, Any]
    ) -> None:
        self._spec, self._folding, self._types = spec, folding, types
        self.frames: list[pl.DataFrame] = []
        self.rows = self.retractions = 0

    def has_rows(self, partials: pl.DataFrame) -> Bools:
        if not self._folding.weighted:
            return np.ones(partials.height, np.bool_)
        flags: Bools = partials[self._folding.weight].to_numpy() > 0
        return flags

    def insert(self, partials: pl.DataFrame) -> None:
        self._put(self._values(filter_rows(partials, self.has_rows(partials))), INSERT)

    def delete(self, partials: pl.DataFrame) -> None:
        self._put(self._values(filter_rows(partials, self.has_rows(partials))), DELETE)

    def change(self, old: pl.DataFrame, new: pl.DataFrame, *, if_equal: bool) -> None:
        """Emits changes from `old` to `new` results, row by row; `if_equal`: also of equal
        results."""
        was, is_now = self.has_rows(old), self.has_rows(new)
        both = was & is_now
        self.delete(filter_rows(old, was & ~is_now))
        before, now = self._values(filter_rows(old, both)), self._values(filter_rows(new, both))
        if not if_equal and before.height:
            changed = self._differ(before, now)
            before, now = filter_rows(before, changed), filter_rows(now, changed)
        self._put(before, UPDATE_BEFORE)
        self._put(now, UPDATE_AFTER)
        self.insert(filter_rows(new, is_now & ~was))

    def _differ(self, old: pl.DataFrame, new: pl.DataFrame) -> Bools:
        differ = np.zeros(old.height, np.bool_)
        for call in self._spec.calls:
            differ |= old[call.name].ne_missing(new[call.name]).to_numpy()
        return differ

    def _values(self, partials: pl.DataFrame) -> pl.DataFrame:
        columns = [partials[name] for name in self._spec.keys]
        window = self._spec.window
        if window is not None:
            time = partials[TIME]
            given = INHERITED_START in partials.columns
            start = partials[INHERITED_START] if given else time + (1 - window.size)
            last = time - 1 if window.kind is WindowKind.SESSION else time
            bounds = ((WINDOW_START, start), (WINDOW_END, last + 1), (WINDOW_TIME, last))
            columns += [series.cast(pl.Int64).alias(name) for name, series in bounds]
        return pl.DataFrame([*columns, *self._folding.finish(partials, self._types)])

    def _put(self, rows: pl.DataFrame, op: int) -> None:
        if not rows.height:
            return
        self.rows += rows.height
        if op in {UPDATE_BEFORE, DELETE}:
            self.retractions += rows.height
        if self._spec.retracts:
            rows = rows.with_columns(pl.lit(op, pl.Int8).alias(OP))
        self.frames.append(rows)
