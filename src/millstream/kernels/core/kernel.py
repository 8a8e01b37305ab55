"""The kernel interface: state + inputs + watermark advance -> outputs, on Polars frames, without
Spark.

The caller (the stateful processor, or a test) owns packets, stores and watermarks. It calls `step`
once per key group and micro-batch. Columns with a fixed meaning have these names:

    _t   Int64   event time in microseconds, never NULL; in processing-time windows, the operator's
                 processing time, whether or not rows were folded before the shuffle
    _h   Int64   Spark's xxhash64 of the key; NULL: the row can match nothing
    _op  Int8    of inputs that retract: INSERT, UPDATE_BEFORE, UPDATE_AFTER or DELETE

All other columns have the names given in the kernel's spec.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import StateLimit

TIME = "_t"
HASH = "_h"
OP = "_op"
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)  # +I, -U, +U, -D
PREDICATE = "_on"  # in a join input: whether the ON predicate over its own columns is true
LATENESS = "_lateness"  # in late rows: how far behind the watermark, in microseconds


@dataclass(frozen=True, slots=True)
class WatermarkAdvance:
    """The operator's watermark before and after this micro-batch, in microseconds.

    Rows older than `before` are late; results that wait for the watermark are emitted up to
    `after`. `limit` replaces the spec's limit in this step. With `enforces_limit`, rows over the
    limit are evicted even if nothing else happens in this step.
    """

    before: int
    after: int
    limit: StateLimit | None = None
    enforces_limit: bool = False

    def effective_limit(self, limit: StateLimit) -> StateLimit:
        """Returns the limit of this step, which defaults to the spec's."""
        return limit if self.limit is None else self.limit


class ValueState(Protocol):
    def get(self) -> bytes | None: ...
    def put(self, value: bytes) -> None: ...
    def clear(self) -> None: ...


class MapState(Protocol):
    def get(self, key: int) -> bytes | None: ...
    def put(self, key: int, value: bytes) -> None: ...
    def remove(self, key: int) -> None: ...


class State(Protocol):
    """The stores of one key group of one operator, by name.

    Each read or write of a store is a call to another process, so kernels make few of them.
    """

    def value(self, name: str) -> ValueState: ...
    def map(self, name: str) -> MapState: ...


@dataclass(slots=True)
class StepResult:
    """The outputs of one step, and counts for the ledger."""

    main: list[pl.DataFrame] = field(default_factory=list)
    late: dict[int, pl.DataFrame] = field(default_factory=dict)  # by input number
    counts: dict[str, int] = field(default_factory=dict)  # cumulative over all steps


def count_processed(counts: dict[str, int], side: str) -> int:
    """Sets `processed` to the number of accepted rows without another outcome, and returns it."""
    others = (outcome for outcome in ACCEPTED_OUTCOMES if outcome is not RowOutcome.PROCESSED)
    count = counts[f"{side}.accepted"] - sum(counts[f"{side}.{outcome}"] for outcome in others)
    counts[f"{side}.processed"] = count
    return count


class Kernel(Protocol):
    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult: ...


def nonempty_frames(result: StepResult) -> Iterator[pl.DataFrame]:
    """Yields the frames of the main output that have rows."""
    return (frame for frame in result.main if frame.height)
