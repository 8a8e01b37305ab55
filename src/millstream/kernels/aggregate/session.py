"""GROUP BY keys and session: rows no more than a gap apart are of one session, in any order.

    held      ├────────┤           ├─────┤
    new            ├──────────────────┤            a row that bridges two sessions makes them one
    merged    ├──────────────────────────┤

A session is one row of state: its start, its end (its last row's time plus the gap) as its time,
and its partials. Rows of a chunk that chain are folded into a fragment, which is merged as a row
would be. Two of them are one if they overlap or touch, as in Spark and Flink. So a session closes
once the watermark has passed its end: a row just at it could still come.
"""

from __future__ import annotations

import polars as pl

from millstream.kernels.accumulators.columns import ROWS
from millstream.kernels.aggregate.classify import Arrived, set_late_apart
from millstream.kernels.aggregate.kernel import AggregateKernel
from millstream.kernels.aggregate.partial_results import (
    accumulators,
    is_folded,
    plain_keys,
    with_hash,
)
from millstream.kernels.aggregate.session_step import SessionStep
from millstream.kernels.aggregate.step import Step
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.specs import INHERITED_START, AggregateSpec
from millstream.kernels.session_chains import CHAIN, Components, chain_rows
from millstream.kernels.state.keyed_table import Tables

__all__ = ["SessionAggregate", "fold"]


def fold(spec: AggregateSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows to fragments: `_h`, keys, `_ws` (start), `_t` (end), `_n`, partials."""
    frame = plain_keys(with_hash(frame), spec.keys)
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
    @property
    def _steps(self) -> type[Step]:
        return SessionStep

    def _sort_out(self, frame: pl.DataFrame, before: int, tables: Tables) -> Arrived:
        """A row is late if the session that it makes, or is merged into, has closed."""
        arrived = Arrived()
        if self.spec.early:
            if not is_folded(frame):
                frame = fold(self.spec, frame)
            elif self.spec.window is not None and self.spec.window.wall_clock:
                frame = frame.with_columns(
                    pl.col(TIME).alias(INHERITED_START), pl.col(TIME) + _gap(self.spec)
                )
            late = self._late(frame, before, tables)
            if late.any():
                arrived.late = int(frame.filter(late)[ROWS].sum())
                frame = frame.filter(~late)
            arrived.partials = frame if frame.height else None
            return arrived
        given = list(frame.columns)
        frame = plain_keys(with_hash(frame), self.spec.keys)
        chained = chain_rows(frame, self.spec.keys, _gap(self.spec))
        fragments = chained.group_by(CHAIN).agg(_bounds(self.spec))
        late = self._late(fragments, before, tables)
        if late.any():
            of_late = chained[CHAIN].is_in(fragments.filter(late)[CHAIN].implode())
            frame = chained.drop(CHAIN)
            frame = set_late_apart(self.spec, frame, of_late, before, arrived)
            if arrived.late_rows is not None:
                arrived.late_rows = arrived.late_rows.select(*given, "_lateness")
            if not frame.height:
                return arrived
            chained = chain_rows(frame, self.spec.keys, _gap(self.spec))
        arrived.partials = _fold_chained(self.spec, chained)
        return arrived

    def _late(self, fragments: pl.DataFrame, before: int, tables: Tables) -> pl.Series:
        """Which fragments are late, also with all that they are merged with."""
        closed = fragments[TIME] + self.spec.lateness < before
        if not closed.any():
            return closed
        made = Components.of(tables[0], fragments, self.spec.keys)
        return made.closed_by(before - self.spec.lateness)
