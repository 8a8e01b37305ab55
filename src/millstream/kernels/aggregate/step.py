"""One step of an aggregate: merges new partial results into stored groups and emits results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.accumulators.columns import ROWS, Accumulators
from millstream.kernels.aggregate.classify import ClassifiedRows
from millstream.kernels.aggregate.distinct_values import GROUP, DistinctValues
from millstream.kernels.aggregate.partial_results import group_columns
from millstream.kernels.aggregate.results import Results
from millstream.kernels.core.frames import filter_rows, take
from millstream.kernels.core.kernel import HASH, TIME, StepResult
from millstream.kernels.core.key_index import Bools
from millstream.kernels.core.specs import AggregateSpec
from millstream.kernels.state.keyed_table import RowMatches, Table, Tables
from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import Emit, StateLimit

_OUTCOMES = (RowOutcome.ACCEPTED, RowOutcome.LATE, RowOutcome.REASSIGNED, *ACCEPTED_OUTCOMES)
COUNTS = (*(f"input.{outcome}" for outcome in _OUTCOMES), "rows_out", "retractions")
_PAIR = "_pair"


@dataclass(frozen=True, slots=True)
class Times:
    before: int
    after: int
    since: int  # windows that ended by then were emitted
    live_from: int  # older groups leave state


class Step:
    """A step with one pane per window. See SlidingStep and SessionStep for others."""

    def __init__(
        self,
        spec: AggregateSpec,
        folding: Accumulators,
        types: Mapping[str, Any],
        tables: Tables,
        times: Times,
    ) -> None:
        self.spec, self.folding, self.tables, self.times = spec, folding, tables, times
        self.groups: Table = tables[0]
        self.counts = tables.counts
        self.results = Results(spec, folding, types)
        self.result = StepResult()
        self.distinct_values: DistinctValues | None = (
            None  # if distinct values have a table of their own
        )

    def count_input(self, classified: ClassifiedRows) -> None:
        self.counts["input.late"] += classified.late
        self.counts["input.reassigned"] += classified.reassigned
        if classified.late_rows is not None:
            self.result.late[0] = classified.late_rows
        if classified.partials is not None:
            self.counts["input.accepted"] += rows_in(classified.partials)

    def update(self, new: pl.DataFrame | None) -> None:
        """Merges new partial results with stored ones, emits results, and expires old groups."""
        if new is None:
            self.emit_and_expire()
            return
        found = self.find(new)
        if self.distinct_values is not None:
            new = self.distinct_values.count(new, found, self.times.live_from)
        fresh, old, now = self.merge(new, found)
        self.groups.remove(found)
        self._emit_changes(fresh, old, now)
        self.emit_and_expire()
        self.store(fresh)
        self.store(now)

    def find(self, new: pl.DataFrame) -> RowMatches:
        """Finds the stored groups of new partial results."""
        return self.groups.probe(new, *(() if self.spec.window is None else (0, 0)))

    def merge(
        self, new: pl.DataFrame, found: RowMatches
    ) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Merges new partial results with stored ones.

        Returns the partial results of new groups, and those of known groups before and after, row
        by row.
        """
        if not len(found):
            return new, new.clear(), new.clear()
        stored = found.rows(new.columns)
        known = np.zeros(new.height, np.bool_)
        known[found.new] = True
        numbers = pl.Series(_PAIR, np.tile(np.arange(stored.height), 2))
        pairs = stored.vstack(take(new, found.new)).with_columns(numbers)
        names = [HASH, *group_columns(self.spec), *([GROUP] if self.distinct_values else [])]
        store = [*(pl.col(name).first() for name in names), pl.col(TIME).max()]
        now = self.folding.merge(pairs, [_PAIR], store, in_order=True)
        return take(new, np.flatnonzero(~known)), stored, now[:, new.columns]

    def _emit_changes(self, fresh: pl.DataFrame, old: pl.DataFrame, now: pl.DataFrame) -> None:
        if self.spec.emit is Emit.CHANGES:
            self.results.change(old, now, if_equal=False)
            self.results.insert(fresh)
            return
        was_emitted = ended(now, self.times.since)
        self.results.change(
            filter_rows(old, was_emitted), filter_rows(now, was_emitted), if_equal=True
        )
        self.results.insert(filter_rows(now, ended(now, self.times.after) & ~was_emitted))
        self.results.insert(filter_rows(fresh, ended(fresh, self.times.after)))

    def emit_and_expire(self) -> None:
        """Emits and expires groups without new rows: those whose window has ended or whose
        retention has passed."""
        final = self.spec.emit is Emit.FINAL
        if final and self.spec.lateness:
            ended = self.groups.scan(self.times.since, self.times.after)
            if ended is not None:
                self.results.insert(ended)
        removed = self.groups.take_before(self.times.live_from)
        if self.distinct_values is not None:
            self.distinct_values.expire(self.times.live_from)
        if removed is not None:
            self.count_removed(removed)
            if final and not self.spec.lateness:
                self.results.insert(removed)

    def store(self, groups: pl.DataFrame) -> None:
        """Stores groups that may still receive rows."""
        stored = groups[TIME].to_numpy() >= self.times.live_from
        if self.folding.weighted:
            stored &= groups[self.folding.weight].to_numpy() != 0
        self.count_removed(filter_rows(groups, ~stored))
        self.groups.append(filter_rows(groups, stored), self.times.live_from)

    def count_removed(self, groups: pl.DataFrame) -> None:
        """Counts the rows of groups that left state, by `state.ttl` or as complete."""
        by_ttl = 0
        if self.spec.window is None:
            by_ttl = rows_in(filter_rows(groups, groups[TIME].to_numpy() < self.times.live_from))
        self.counts["input.expired"] += by_ttl
        self.counts["input.processed"] += rows_in(groups) - by_ttl

    def close(self, limit: StateLimit) -> StepResult:
        for evicted in self.tables.evict(limit, "aggregate").values():
            self.counts["input.evicted"] += rows_in(evicted)
        counts = self.counts
        removed = sum(
            counts[f"input.{outcome}"]
            for outcome in ACCEPTED_OUTCOMES
            if outcome is not RowOutcome.IN_STATE
        )
        counts["input.in_state"] = counts["input.accepted"] - removed
        counts["rows_out"] += self.results.rows
        counts["retractions"] += self.results.retractions
        self.tables.close(self.times.after)
        self.result.main = self.results.frames
        self.result.counts = dict(counts)
        return self.result


def rows_in(partials: pl.DataFrame) -> int:
    """Returns how many rows partial results represent."""
    return int(partials[ROWS].sum())


def ended(groups: pl.DataFrame, time: int) -> Bools:
    """Returns which groups' windows had ended at `time`."""
    flags: Bools = groups[TIME].to_numpy() < time
    return flags
