"""Deduplication: emits the first row of each key and drops the others.

    new rows ──▶ not near an earlier emitted row of the key ──▶ the earliest of each key, and the
                              ▲                                 next one not near to it, …
                              └──────────── keys and times ◀────────────────────┘

Near means at most `within` apart, in any order of arrival, so results do not depend on when a key
expires. State has keys and times, no other columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.grouping import index_by_key
from millstream.kernels.core.hashing import fill_null_hashes
from millstream.kernels.core.kernel import HASH, TIME, State, StepResult, WatermarkAdvance
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, time_order
from millstream.kernels.core.late_rows import split_late
from millstream.kernels.core.specs import DeduplicateSpec
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Table, Tables, TableSpec
from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import BEGIN_OF_TIME, LateAction

__all__ = ["COUNTS", "Deduplicate", "DeduplicateSpec"]

_OUTCOMES = (
    RowOutcome.ACCEPTED,
    RowOutcome.LATE,
    RowOutcome.REASSIGNED,
    RowOutcome.DUPLICATE,
    *ACCEPTED_OUTCOMES,
)
COUNTS = (*(f"input.{outcome}" for outcome in _OUTCOMES), "rows_out", "retractions")


class Deduplicate:
    """The kernel of deduplication."""

    def __init__(
        self,
        spec: DeduplicateSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings | None = None,
        *,
        hash_is_key: bool = False,
    ) -> None:
        """`types` are accepted for uniformity: columns keep the types of the input. `hash_is_key`:
        there is one key, an integer, and `_h` is that key."""
        self.spec = spec
        self._types = dict(types or {})
        self._settings = settings
        self._table_specs = TableSpec(spec.keys, hash_is_key, removable=False)

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult:
        tables = Tables(state, (self._table_specs,), COUNTS, self._settings)
        known, counts = tables[0], tables.counts
        after = max(advance.after, advance.before, tables.watermark)
        within = self.spec.within
        live_from = BEGIN_OF_TIME if within is None else after - within
        frame = inputs.get(0)
        idle = (frame is None or not frame.height) and not advance.enforces_limit
        if idle and known.earliest >= live_from:
            return StepResult(counts=dict(counts))

        result = StepResult()
        if frame is not None and frame.height:
            rows, late, reassigned = split_late(
                fill_null_hashes(frame), advance.before, self.spec.late
            )
            counts["input.reassigned"] += reassigned
            if late is not None:
                counts["input.late"] += late.height
                if self.spec.late.action is LateAction.SIDE_OUTPUT:
                    result.late[0] = late
            if rows.height:
                self._emit_first_rows(known, rows, live_from, counts, result)
        counts["input.expired"] += known.expire(live_from)
        for evicted in tables.evict(
            advance.effective_limit(self.spec.limit), "deduplication"
        ).values():
            counts["input.evicted"] += evicted.height
        counts["input.in_state"] = known.row_count
        tables.close(after)
        result.counts = dict(counts)
        return result

    def _emit_first_rows(
        self,
        known: Table,
        rows: pl.DataFrame,
        live_from: int,
        counts: dict[str, int],
        result: StepResult,
    ) -> None:
        keys = rows[:, list(dict.fromkeys((*self.spec.keys, TIME, HASH)))].rechunk()
        is_first = self._first_rows(known, keys)
        passed = int(np.count_nonzero(is_first))
        counts["input.duplicate"] += rows.height - passed
        counts["input.accepted"] += passed
        counts["rows_out"] += passed
        if not passed:
            return
        result.main.append(rows[:, list(self.spec.columns)].filter(is_first))
        to_store = is_first & (keys[TIME].to_numpy() >= live_from)
        count = int(np.count_nonzero(to_store))
        counts["input.expired"] += passed - count
        known.append(take(keys, np.flatnonzero(to_store)), live_from)

    def _first_rows(self, known: Table, keys: pl.DataFrame) -> Bools:
        """Returns which rows are the first of their key."""
        within = self.spec.within
        is_first = np.zeros(keys.height, np.bool_)
        order = time_order(keys[TIME].to_numpy())
        if order is not None:
            keys = take(keys, order)
        index = index_by_key(keys, self.spec.keys, keys[TIME].to_numpy())
        if within is None:
            first = index.order[index.run_starts]
            unknown = np.ones(first.size, np.bool_)
            unknown[known.probe(take(keys, first)).new] = False
            passed = first[unknown]
        else:
            unknown = np.ones(keys.height, np.bool_)
            unknown[known.probe(keys, -within, within).new] = False
            passed = np.flatnonzero(unknown)
            if passed.size:
                passed = passed[far_apart(index.filter(unknown), within)]
        is_first[passed if order is None else order[passed]] = True
        return is_first


def far_apart(index: KeyIndex, within: int) -> Ints:
    """Returns the first row of each key, then the first one more than `within` after it, and so on.

    Every row points to the row that would follow if it were chosen. Starting from the first rows of
    all keys, it follows these pointers, and pointers of pointers, so a chain of n rows takes log n
    rounds.
    """
    times, order = index.times, index.order
    last = index.run_stops[index.run_starts] - 1
    taken = np.zeros(len(index) + 1, np.bool_)
    taken[index.run_starts] = True
    if (times[order[last]] - times[order[index.run_starts]]).max() > within:
        lengths = last + 1 - index.run_starts
        run, stop = np.repeat(index.run_starts, lengths), np.repeat(last + 1, lengths)
        row = np.searchsorted(times, times[order] + within, side="right")
        following = np.searchsorted(index.run_and_row, (run << 32) | row)
        following = np.append(np.where(following < stop, following, len(index)), len(index))
        while True:
            reached = following[np.flatnonzero(taken)]
            reached = reached[reached < len(index)]
            if not reached.size:
                break
            taken[reached] = True
            following = following[following]
    return order[np.flatnonzero(taken[:-1])]
