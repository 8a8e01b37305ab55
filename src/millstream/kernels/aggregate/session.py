"""GROUP BY keys and session: rows with the same key that are at most a gap apart share a session.

    stored    ├────────┤           ├─────┤
    new            ├──────────────────┤            a row between two sessions merges them
    merged    ├──────────────────────────┤

A session is one row in state: its start, its end (the time of its last row plus the gap) as its
time, and its partial results. Rows of a chunk that form a chain are folded into a fragment, which
is merged like a row. Sessions that overlap or touch are merged, as in Spark and Flink. So a session
closes once the watermark has passed its end: a row at exactly that time would still extend it.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.kernels.accumulators.columns import ROWS
from millstream.kernels.aggregate.base import AggregateKernel
from millstream.kernels.aggregate.classify import ClassifiedRows, split_late_rows
from millstream.kernels.aggregate.partial_results import (
    accumulators,
    is_folded,
    normalize_keys,
)
from millstream.kernels.aggregate.step import Step, ended
from millstream.kernels.core.frames import filter_rows, take
from millstream.kernels.core.hashing import fill_null_hashes
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.specs import INHERITED_START, AggregateSpec
from millstream.kernels.session_chains import CHAIN, Components, chain_rows
from millstream.kernels.state.keyed_table import Tables
from millstream.temporal import Emit


def fold(spec: AggregateSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """Folds rows into fragments: `_h`, keys, `_ws` (start), `_t` (end), `_n`, partial results."""
    frame = normalize_keys(fill_null_hashes(frame), spec.keys)
    return _fold_chained(spec, chain_rows(frame, spec.keys, _gap(spec)))


def _fold_chained(spec: AggregateSpec, chained: pl.DataFrame) -> pl.DataFrame:
    return accumulators(spec).fold(chained, [CHAIN], _bounds(spec)).drop(CHAIN)


def _bounds(spec: AggregateSpec) -> list[pl.Expr]:
    return [
        *(pl.col(name).first() for name in (HASH, *spec.keys)),
        pl.col(TIME).min().alias(INHERITED_START),
        pl.col(TIME).max() + _gap(spec),
    ]


def _gap(spec: AggregateSpec) -> int:
    assert spec.window is not None
    return spec.window.size


class SessionAggregate(AggregateKernel):
    """The kernel of aggregates over sessions."""

    @property
    def _steps(self) -> type[Step]:
        return SessionStep

    def _classify(self, frame: pl.DataFrame, before: int, tables: Tables) -> ClassifiedRows:
        """Classifies rows. A row is late if its session, including sessions it would merge with,
        has closed."""
        classified = ClassifiedRows()
        if self.spec.early:
            if not is_folded(frame):
                frame = fold(self.spec, frame)
            elif self.spec.window is not None and self.spec.window.wall_clock:
                frame = frame.with_columns(
                    pl.col(TIME).alias(INHERITED_START), pl.col(TIME) + _gap(self.spec)
                )
            late = self._late(frame, before, tables)
            if late.any():
                classified.late = int(frame.filter(late)[ROWS].sum())
                frame = frame.filter(~late)
            classified.partials = frame if frame.height else None
            return classified
        given = list(frame.columns)
        frame = normalize_keys(fill_null_hashes(frame), self.spec.keys)
        chained = chain_rows(frame, self.spec.keys, _gap(self.spec))
        fragments = chained.group_by(CHAIN).agg(_bounds(self.spec))
        late = self._late(fragments, before, tables)
        if late.any():
            of_late = chained[CHAIN].is_in(fragments.filter(late)[CHAIN].implode())
            frame = chained.drop(CHAIN)
            frame = split_late_rows(self.spec, frame, of_late, before, classified)
            if classified.late_rows is not None:
                classified.late_rows = classified.late_rows.select(*given, "_lateness")
            if not frame.height:
                return classified
            chained = chain_rows(frame, self.spec.keys, _gap(self.spec))
        classified.partials = _fold_chained(self.spec, chained)
        return classified

    def _late(self, fragments: pl.DataFrame, before: int, tables: Tables) -> pl.Series:
        """Returns which fragments are late, also together with all sessions they would merge
        with."""
        closed = fragments[TIME] + self.spec.lateness < before
        if not closed.any():
            return closed
        made = Components.of(tables[0], fragments, self.spec.keys)
        return made.closed_by(before - self.spec.lateness)


class SessionStep(Step):
    """One step of a session aggregate: merges new fragments with the sessions they overlap."""

    def update(self, new: pl.DataFrame | None) -> None:
        if new is None:
            self.emit_and_expire()
            return
        made = Components.of(self.groups, new, self.spec.keys)
        stored = made.found.rows(new.columns) if len(made.found) else new.clear()
        self.groups.remove(made.found)
        now = self._merged(stored.vstack(new), made.chains)
        # Chains are numbered from 0 without gaps, and `now` is in their order.
        self._emit_session_changes(stored, made.chains[: stored.height], now)
        self.emit_and_expire()
        self.store(now)

    def _merged(self, parts: pl.DataFrame, chains: Ints) -> pl.DataFrame:
        """Returns one session per chain, ordered by chain. Stored sessions precede new ones, as
        they arrived."""
        names = parts.columns
        sizes = np.bincount(chains)
        if (sizes == 1).all():
            return take(parts, np.argsort(chains))
        store = [
            *(pl.col(name).first() for name in (HASH, *self.spec.keys)),
            pl.col(INHERITED_START).min(),
            pl.col(TIME).max(),
        ]
        numbered = parts.with_columns(pl.Series(CHAIN, chains))
        return self.folding.merge(numbered, [CHAIN], store).sort(CHAIN)[:, names]

    def _emit_session_changes(self, stored: pl.DataFrame, chains: Ints, now: pl.DataFrame) -> None:
        final = self.spec.emit is Emit.FINAL
        out = ended(stored, self.times.since) if final else np.ones(stored.height, np.bool_)
        stored, chains = filter_rows(stored, out), chains[out]
        become = take(now, chains)
        same: Bools = (stored[TIME] == become[TIME]).to_numpy()
        same &= (stored[INHERITED_START] == become[INHERITED_START]).to_numpy()
        self.results.delete(filter_rows(stored, ~same))
        self.results.change(filter_rows(stored, same), filter_rows(become, same), if_equal=final)
        due = ended(now, self.times.after) if final else np.ones(now.height, np.bool_)
        due[chains[same]] = False
        self.results.insert(filter_rows(now, due))
