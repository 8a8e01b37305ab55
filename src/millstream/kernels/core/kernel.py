"""What a kernel is: state + inputs + clock -> outputs, on Polars frames, with no Spark in sight.

A host (Spark's, or a test's) owns packets, stores and watermarks. It calls `step` once for each
key group and micro-batch. Kernels speak of a row's fixed columns by these names:

    _t   Int64   event time in microseconds, never NULL; in processing-time windows, the operator's
                 processing time, whether or not rows were folded before the shuffle
    _h   Int64   Spark's xxhash64 of the key; NULL: the row can match nothing

    _op  Int8    of rows that may be taken back: INSERT, UPDATE_BEFORE, UPDATE_AFTER or DELETE

Every other column has the name the kernel's spec gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import StateLimit

TIME = "_t"
HASH = "_h"
OP = "_op"
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)  # +I, -U, +U, -D
PREDICATE = "_on"  # of a side of a join: whether its part of the ON predicate is true
LATENESS = "_lateness"  # of a late row: how far behind the watermark it came, in microseconds


@dataclass(frozen=True, slots=True)
class WatermarkAdvance:
    """The operator's watermark before and after this micro-batch, in microseconds.

    A row is late when it is older than `before`; results that wait for time come out by `after`.
    `limit` replaces the spec's limit in this step. With `trims`, rows over the limit are evicted
    even if nothing else happens in this step.
    """

    before: int
    after: int
    limit: StateLimit | None = None
    trims: bool = False

    def limit_or(self, limit: StateLimit) -> StateLimit:
        return limit if self.limit is None else self.limit


class ValueState(Protocol):
    def get(self) -> bytes | None: ...
    def put(self, value: bytes) -> None: ...
    def clear(self) -> None: ...


class ListState(Protocol):
    """Values in the order they were appended."""

    def append(self, value: bytes) -> None: ...
    def get(self) -> list[bytes]: ...
    def clear(self) -> None: ...


class MapState(Protocol):
    def get(self, key: int) -> bytes | None: ...
    def put(self, key: int, value: bytes) -> None: ...
    def remove(self, key: int) -> None: ...


class State(Protocol):
    """The stores of one key group of one operator, by name. A store's reads and writes cost a call
    to another process, so a kernel makes few of them."""

    def value(self, name: str) -> ValueState: ...
    def list(self, name: str) -> ListState: ...
    def map(self, name: str) -> MapState: ...


class ReducingState:
    """One value that every added value is folded into: reduce(held, added) -> held."""

    def __init__(self, store: ValueState, reduce: Callable[[bytes, bytes], bytes]) -> None:
        self._store = store
        self._reduce = reduce

    def get(self) -> bytes | None:
        return self._store.get()

    def add(self, value: bytes) -> None:
        held = self._store.get()
        self._store.put(value if held is None else self._reduce(held, value))

    def clear(self) -> None:
        self._store.clear()


@dataclass(slots=True)
class StepResult:
    """What one step gives: frames for each port, and counts for the account of rows."""

    main: list[pl.DataFrame] = field(default_factory=list)
    late: dict[int, pl.DataFrame] = field(default_factory=dict)  # by input number
    counts: dict[str, int] = field(default_factory=dict)  # since the state began


def count_processed(counts: dict[str, int], side: str) -> int:
    """Sets `processed` to the number of accepted rows without another outcome; returns it."""
    others = (outcome for outcome in ACCEPTED_OUTCOMES if outcome is not RowOutcome.PROCESSED)
    count = counts[f"{side}.accepted"] - sum(counts[f"{side}.{outcome}"] for outcome in others)
    counts[f"{side}.processed"] = count
    return count


class Kernel(Protocol):
    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], clock: WatermarkAdvance
    ) -> StepResult: ...


def nonempty_frames(result: StepResult) -> Iterator[pl.DataFrame]:
    """Yields the frames of the main output that have rows."""
    return (frame for frame in result.main if frame.height)
