"""GROUP BY keys and window, for windows of fixed size, given windows and none.

    rows ──fold──▶ partials ──▶ merge_partials with what is stored of their groups ──▶ results that changed
                                             │
                                             ▼
    stored groups, once the watermark has passed the end of their window ──▶ final results

A group is one row of state: its keys, its window's last microsecond as its time, and its partials.
What a group's result was is not retained: it is made anew from the partials as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.aggregate import session
from millstream.kernels.aggregate.base import AggregateKernel
from millstream.kernels.aggregate.classify import ClassifiedRows, classify
from millstream.kernels.aggregate.partial_results import fold
from millstream.kernels.aggregate.session import SessionAggregate
from millstream.kernels.aggregate.sliding import SlidingStep
from millstream.kernels.aggregate.step import COUNTS, Step
from millstream.kernels.core.specs import AggregateSpec
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Tables
from millstream.temporal import WindowKind

__all__ = ["COUNTS", "Aggregate", "SessionAggregate", "create_kernel", "fold", "pre_aggregate"]


class Aggregate(AggregateKernel):
    @property
    def _steps(self) -> type[Step]:
        window = self.spec.window
        sliding = window is not None and window.kind is WindowKind.SLIDING
        return SlidingStep if sliding else Step

    def _classify(self, frame: pl.DataFrame, before: int, _tables: Tables) -> ClassifiedRows:
        return classify(self.spec, frame, before)


def create_kernel(
    spec: AggregateSpec, types: Mapping[str, Any], settings: LogSettings | None = None
) -> AggregateKernel:
    """The kernel for the windows of an aggregate."""
    return (SessionAggregate if _by_session(spec) else Aggregate)(spec, types, settings)


def pre_aggregate(spec: AggregateSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows as partials, for kernels whose spec is `early`: to be run before the exchange."""
    return (session.fold if _by_session(spec) else fold)(spec, frame)


def _by_session(spec: AggregateSpec) -> bool:
    return spec.window is not None and spec.window.kind is WindowKind.SESSION
