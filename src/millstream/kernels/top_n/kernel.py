"""The first n rows of each partition.

    new rows ──▶ with the stored rows of their partitions, sorted ──▶ CHANGES: what differs
                        ▲                    │                        FINAL: the first n, once due
                        └── the first n ◀────┘

If the input does not retract, only the first n rows of a partition are in state. If it retracts,
all rows are: when one is retracted, another one takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.accumulators.accumulator import ROWS
from millstream.kernels.core.frames import take
from millstream.kernels.core.grouping import group
from millstream.kernels.core.hashing import fill_null_hashes
from millstream.kernels.core.kernel import (
    HASH,
    LATENESS,
    OP,
    TIME,
    State,
    StepResult,
    WatermarkAdvance,
    count_processed,
)
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.ranking import in_order, places
from millstream.kernels.core.specs import TopNSpec
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import RowMatches, Table, Tables, TableSpec
from millstream.kernels.top_n import changes
from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import BEGIN_OF_TIME, Emit, LateAction, StateLimit

__all__ = ["COUNTS", "TopN", "TopNSpec"]

_OUTCOMES = (RowOutcome.ACCEPTED, RowOutcome.LATE, *ACCEPTED_OUTCOMES)
COUNTS = (*(f"input.{outcome}" for outcome in _OUTCOMES), "rows_out", "retractions")
ARRIVAL = "_a"  # the order of arrival in a partition, batch by batch


class TopN:
    """The kernel of TopN."""

    def __init__(
        self,
        spec: TopNSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        """Of `types`, the types of output columns, only that of the rank column is used."""
        self.spec = spec
        self._rank_type = (types or {}).get(spec.rank or "", pl.Int32)
        self._settings = settings
        due = () if spec.due is None else (spec.due,)
        ordered = (term.column for term in spec.order)
        self._content = list(dict.fromkeys((*spec.partition, *spec.columns, *ordered, *due)))
        self._ties = [ARRIVAL, *spec.columns]

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult:
        table_spec = TableSpec(self.spec.partition)
        tables = Tables(state, (table_spec, table_spec), COUNTS, self._settings)
        counts = tables.counts
        after = max(advance.after, advance.before, tables.watermark)
        frame = inputs.get(0)
        idle = (frame is None or not frame.height) and not advance.enforces_limit
        if idle and not self._has_time_work(tables, after):
            return StepResult(counts=dict(counts))
        result = StepResult()
        if frame is not None and frame.height:
            rows = self._remove_late(frame, advance.before, counts, result)
            if rows.height:
                counts["input.accepted"] += _count(rows)
                self._change(tables, fill_null_hashes(rows), after, result)
        self._expire(tables, after, result)
        self._evict(tables, advance.effective_limit(self.spec.limit))
        counts["input.in_state"] = tables[0].row_count
        count_processed(counts, "input")
        for out in result.main:
            counts["rows_out"] += out.height
            if OP in out.columns:
                counts["retractions"] += changes.count_retractions(out)
        tables.close(after)
        result.counts = dict(counts)
        return result

    def _has_time_work(self, tables: Tables, after: int) -> bool:
        """Returns whether the watermark by itself causes output or expiry."""
        if self.spec.due is not None:
            return tables[0].earliest <= after
        return self.spec.ttl is not None and tables[1].earliest < after - self.spec.ttl

    def _remove_late(
        self, frame: pl.DataFrame, before: int, counts: dict[str, int], result: StepResult
    ) -> pl.DataFrame:
        """Returns the rows whose partition is still open.

        A row cannot move to another partition, so `reassign` has the same effect as `drop`.
        """
        if self.spec.due is None:
            return frame
        late = frame[self.spec.due].to_numpy() <= before
        if not late.any():
            return frame
        counts["input.late"] += int(np.count_nonzero(late))
        if self.spec.late.action is LateAction.SIDE_OUTPUT:
            lateness = (before - pl.col(TIME)).alias(LATENESS)
            result.late[0] = frame.filter(late).with_columns(lateness)
        return frame.filter(~late)

    def _change(self, tables: Tables, rows: pl.DataFrame, after: int, result: StepResult) -> None:
        spec, table = self.spec, tables[0]
        codes, first = group(rows, spec.partition)
        self._update_last_times(tables[1], rows, codes, first)
        if spec.due is not None:
            rows = rows.with_columns(pl.col(spec.due).alias(TIME))
        touched = take(rows[:, list(dict.fromkeys((*spec.partition, TIME, HASH)))], first)
        found = table.probe(touched) if spec.due is None else table.probe(touched, 0, 0)
        stored = found.rows() if len(found) else None
        if spec.over_changes:
            rows, codes, gone = changes.net_rows(rows, codes, stored, self._content)
        else:
            gone = np.zeros(len(found), np.bool_)
        every = self._combine(stored, found.new, rows, codes, first.size)
        codes = np.concatenate((found.new, codes))
        was = np.arange(codes.size) < len(found)
        stays = ~np.append(gone, np.zeros(codes.size - gone.size, np.bool_))
        if spec.over_changes:  # no row moves further than the number of changed rows
            moves = np.bincount(codes[~(was & stays)], minlength=1)
            order = in_order(every, codes, spec.order, self._ties, spec.n + int(moves.max()))
        else:
            order = in_order(every, codes, spec.order, self._ties, spec.n, always=was)
        ranks = places(codes[order], stays[order])
        ranks[ranks > spec.n] = 0

        closed = np.zeros(codes.size, np.bool_)
        if spec.due is not None:
            closed = every[TIME].to_numpy() <= after
        if spec.emit is Emit.FINAL:
            out = order[(ranks > 0) & closed[order]]
            self._emit_final(every, out, ranks[(ranks > 0) & closed[order]], result)
        else:
            old = places(codes[order], was[order])
            old[old > spec.n] = 0
            ops = changes.rank_changes if spec.rank else changes.membership_changes
            self._emit_changes(every, ops(codes[order], order, old, ranks), result)

        retained = stays
        if not spec.over_changes:
            retained = np.zeros(codes.size, np.bool_)
            retained[order] = ranks > 0
        retained &= ~closed
        self._update(table, found, every, retained, after)

    def _combine(
        self, stored: pl.DataFrame | None, of: Ints, rows: pl.DataFrame, codes: Ints, groups: int
    ) -> pl.DataFrame:
        """Returns stored and new rows; the new ones of each partition arrived after its stored
        ones."""
        arrived = np.zeros(groups, np.int64)
        if stored is not None:
            np.maximum.at(arrived, of, stored[ARRIVAL].to_numpy() + 1)
        new = rows[:, self._content].with_columns(
            pl.Series(ARRIVAL, arrived[codes]), rows[TIME], rows[HASH]
        )
        return new if stored is None else stored.vstack(new)

    def _update(
        self, table: Table, found: RowMatches, every: pl.DataFrame, retained: Bools, after: int
    ) -> None:
        table.remove(found.filter(~retained[: len(found)]))
        fresh = np.flatnonzero(retained[len(found) :]) + len(found)
        live_from = BEGIN_OF_TIME if self.spec.due is None else after
        if fresh.size:
            table.append(take(every, fresh), live_from)

    # --- output

    def _emit_final(self, every: pl.DataFrame, rows: Ints, ranks: Ints, result: StepResult) -> None:
        if rows.size:
            result.main.append(pl.DataFrame(self._out(every, rows, ranks)))

    def _emit_changes(
        self, every: pl.DataFrame, found: changes.Changes, result: StepResult
    ) -> None:
        if self.spec.rank:
            found = changes.without_equal_pairs(found, every[:, list(self.spec.columns)])
        if found.rows.size:
            out = self._out(every, found.rows, found.ranks)
            result.main.append(pl.DataFrame([*out, pl.Series(OP, found.ops, pl.Int8)]))

    def _out(self, every: pl.DataFrame, rows: Ints, ranks: Ints) -> list[pl.Series]:
        out = take(every[:, list(self.spec.columns)], rows).get_columns()
        if self.spec.rank is None:
            return out
        return [*out, pl.Series(self.spec.rank, ranks).cast(self._rank_type)]

    # --- expiry

    def _update_last_times(self, last: Table, rows: pl.DataFrame, codes: Ints, first: Ints) -> None:
        """Stores the time of each partition's last row, if partitions expire by it."""
        if self.spec.ttl is None:
            return
        latest = np.full(first.size, BEGIN_OF_TIME)
        np.maximum.at(latest, codes, rows[TIME].to_numpy())
        touched = take(rows[:, [*self.spec.partition, HASH]], first)
        touched = touched.with_columns(pl.Series(TIME, latest))
        found = last.probe(touched)
        known = np.full(first.size, BEGIN_OF_TIME)
        if len(found):
            known[found.new] = found.rows([TIME])[TIME].to_numpy()
        later = latest > known
        last.remove(found.filter(later[found.new]))
        last.append(touched.filter(later))

    def _expire(self, tables: Tables, after: int, result: StepResult) -> None:
        table = tables[0]
        if self.spec.due is not None and self.spec.emit is Emit.FINAL:
            due = table.take_before(after + 1)
            if due is not None:
                codes, _ = group(due, self.spec.partition)
                order = in_order(due, codes, self.spec.order, self._ties, self.spec.n)
                ranks = places(codes[order], np.ones(order.size, np.bool_))
                first = ranks <= self.spec.n
                self._emit_final(due, order[first], ranks[first], result)
        elif self.spec.due is not None:
            table.expire(after + 1)
        elif self.spec.ttl is not None:
            idle = tables[1].take_before(after - self.spec.ttl)
            if idle is not None:
                tables.counts["input.expired"] += table.remove(table.probe(idle))

    def _evict(self, tables: Tables, limit: StateLimit) -> None:
        """Applies the limit. A partition whose last time is evicted is removed, since it would
        never expire."""
        evicted = tables.evict(limit, "top-n")
        count = evicted[0].height if 0 in evicted else 0
        if 1 in evicted:
            count += tables[0].remove(tables[0].probe(evicted[1]))
        tables.counts["input.evicted"] += count


def _count(rows: pl.DataFrame) -> int:
    """Returns how many input rows these rows represent: prefiltered rows represent others, too."""
    return int(rows[ROWS].sum()) if ROWS in rows.columns else rows.height
