"""A harness for kernels with one input: makes frames, keeps the watermark, loses caches,
retries."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from hypothesis import strategies as st
from tests.kernels import strategies

from millstream.kernels.core.kernel import Kernel, StepResult, WatermarkAdvance
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

Key = tuple[str | None, int | None]
SCHEMA: Mapping[str, Any] = {
    "id": pl.Int64, "_t": pl.Int64, "k1": pl.String, "k2": pl.Int64, "x": pl.Int64, "y": pl.Float64,
    "_h": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    id: int
    t: int
    key: Key
    x: int | None = None
    y: float | None = None
    op: int = 0
    due: int = 0


Hash = Callable[[Row], int | None]
Batches = list[list[Row]]


def own_hash(row: Row) -> int | None:
    """Hashes a key; the hash is NULL for some keys that are NULL in part."""
    return None if row.key[0] is None else hash(row.key)


def colliding_hash(row: Row) -> int:
    return len(str(row.key)) % 2


hashes = st.sampled_from([own_hash, colliding_hash])
trouble = st.one_of(st.none(), st.randoms(use_true_random=False))


def frame_of(rows: Sequence[Row], hashing: Hash, more: Sequence[str] = ()) -> pl.DataFrame:
    """Returns the columns that every frame has and, if in `more`, the operation `_op` and the time
    `due`."""
    frame = pl.DataFrame(
        [(row.id, row.t, *row.key, row.x, row.y, hashing(row)) for row in rows],
        schema=SCHEMA,
        orient="row",
    )
    if "_op" in more:
        frame = frame.with_columns(pl.Series("_op", [row.op for row in rows], pl.Int8))
    if "due" in more:
        frame = frame.with_columns(pl.Series("due", [row.due for row in rows], pl.Int64))
    return frame


@dataclass
class Harness:
    """Watermark: the greatest time seen less the delay."""

    kernel: Kernel
    delay: int = 0
    hashing: Hash = own_hash
    trouble: random.Random | None = None  # decides when caches are lost and batches are retried
    more: Sequence[str] = ()
    fold: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # done to chunks before they arrive
    state: MemoryState = field(default_factory=MemoryState)
    top: int = BEGIN_OF_TIME
    advance: WatermarkAdvance = field(
        default_factory=lambda: WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    )
    last: StepResult = field(default_factory=StepResult)

    def feed(self, rows: Sequence[Row], end: bool = False) -> list[dict[str, Any]]:
        """Runs one batch; returns the output rows in order."""
        self.top = max([self.top, *(row.t for row in rows)])
        mark = BEGIN_OF_TIME if self.top == BEGIN_OF_TIME else self.top - self.delay
        self.advance = WatermarkAdvance(
            self.advance.after, END_OF_TIME if end else max(self.advance.after, mark)
        )
        inputs = {}
        if rows or self._sometimes():  # an empty frame and none must mean the same
            inputs[0] = self._arriving(frame_of(rows, self.hashing, self.more))
        if self._sometimes():
            self._failed_attempt(inputs)
        if self._sometimes():
            cache.clear_cache()
        self.last = self.kernel.step(self.state, inputs, self.advance)
        return [row for frame in self.last.main for row in frame.rows(named=True)]

    def _arriving(self, frame: pl.DataFrame) -> pl.DataFrame:
        if self.fold is None or not frame.height:
            return frame
        half = frame.height // 2
        return pl.concat([self.fold(part) for part in (frame[:half], frame[half:]) if part.height])

    def finish(self) -> list[dict[str, Any]]:
        return self.feed([], end=True)

    def _failed_attempt(self, inputs: dict[int, pl.DataFrame]) -> None:
        """Runs the batch, perhaps in part and with other rows, and discards its writes."""
        assert self.trouble
        other = {
            number: frame.sample(fraction=self.trouble.random(), seed=self.trouble.randrange(99))
            for number, frame in inputs.items()
        }
        self.kernel.step(self.state.copy(), other, self.advance)

    def _sometimes(self) -> bool:
        return self.trouble is not None and self.trouble.random() < 0.3


@st.composite
def rows(draw: st.DrawFn, max_size: int = 16, top: int = 50) -> list[Row]:
    found = draw(
        st.lists(
            st.tuples(
                st.integers(-10, top),
                strategies.keys,
                st.one_of(st.none(), st.integers(-3, 3)),
                strategies.numbers,
            ),
            max_size=max_size,
        )
    )
    return [Row(number, t, key, x, y) for number, (t, key, x, y) in enumerate(found)]


@st.composite
def in_time(draw: st.DrawFn, rows: Sequence[Row]) -> tuple[Batches, int]:
    """Rows out of order by no more than a delay, cut into batches at random; and the delay."""
    delay, count = draw(st.integers(0, 20)), draw(st.integers(1, 6))
    each = len(rows)
    jitter = draw(st.lists(st.integers(0, delay), min_size=each, max_size=each))
    order = sorted(range(len(rows)), key=lambda i: rows[i].t + jitter[i])
    where = sorted(draw(st.lists(st.integers(0, count - 1), min_size=each, max_size=each)))
    batches: Batches = [[] for _ in range(count)]
    for number, batch in zip(order, where, strict=True):
        batches[batch].append(rows[number])
    return batches, delay


@st.composite
def any_order(draw: st.DrawFn, rows: Sequence[Row]) -> tuple[Batches, int]:
    """Rows in any batch: many of them late."""
    count = draw(st.integers(1, 6))
    batches: Batches = [[] for _ in range(count)]
    for row in rows:
        batches[draw(st.integers(0, count - 1))].append(row)
    return batches, draw(st.integers(0, 10))
