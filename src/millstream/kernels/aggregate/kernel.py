"""GROUP BY keys and window, for windows of fixed size, inherited windows and no windows.

    rows ──fold──▶ partial results ──▶ merged with stored ones of their groups ──▶ changed results
                                             │
                                             ▼
    stored groups, once the watermark has passed the end of their window ──▶ final results

A group is one row in state: its keys, its window's last microsecond as its time, and its partial
results. The previous result of a group is not stored: it is computed from the partial results
before the change. Sessions are in `session`, sliding windows in `sliding`.
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
    """The kernel of all windows except sessions."""

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
    """Returns the kernel for the windows of an aggregate."""
    return (SessionAggregate if _by_session(spec) else Aggregate)(spec, types, settings)


def pre_aggregate(spec: AggregateSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """Folds rows into partial results before the shuffle, for kernels whose spec is `early`."""
    return (session.fold if _by_session(spec) else fold)(spec, frame)


def _by_session(spec: AggregateSpec) -> bool:
    return spec.window is not None and spec.window.kind is WindowKind.SESSION
