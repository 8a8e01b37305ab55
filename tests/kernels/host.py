"""A host for kernels in tests: makes frames, keeps the watermark, loses caches, retries batches."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import polars as pl
from tests.kernels.oracle import Bag, Row

from millstream.kernels.base import Clock, StepResult
from millstream.kernels.joins.interval import IntervalJoin, IntervalJoinSpec
from millstream.kernels.state import rows as cache
from millstream.kernels.state.memory import MemoryState
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

LEFT_COLUMNS, RIGHT_COLUMNS = ("l_id",), ("r_id",)
KEYS = (("l_k1", "l_k2"), ("r_k1", "r_k2"))
Hash = Callable[[Row], int]


def own_hash(row: Row) -> int:
    return hash(row.key)


def integer_key(row: Row) -> int:
    return cast("int", row.key[1])


def colliding_hash(row: Row) -> int:
    return len(str(row.key)) % 2


def frame_of(rows: Sequence[Row], side: int, hashing: Hash) -> pl.DataFrame:
    prefix = "lr"[side]
    return pl.DataFrame(
        {
            "_t": [row.t for row in rows],
            f"{prefix}_k1": [row.key[0] for row in rows],
            f"{prefix}_k2": [row.key[1] for row in rows],
            f"{prefix}_x": [row.x for row in rows],
            f"{prefix}_id": [row.id for row in rows],
            "_h": [None if None in row.key else hashing(row) for row in rows],
        },
        schema={
            "_t": pl.Int64,
            f"{prefix}_k1": pl.String,
            f"{prefix}_k2": pl.Int64,
            f"{prefix}_x": pl.Float64,
            f"{prefix}_id": pl.Int64,
            "_h": pl.Int64,
        },
    )


@dataclass
class Host:
    """Watermark: the least over the sides of the greatest time seen less the side's delay."""

    join: IntervalJoin
    delays: tuple[int, int] = (0, 0)
    hashing: Hash = own_hash
    trouble: random.Random | None = None  # decides when caches are lost and batches are retried
    state: MemoryState = field(default_factory=MemoryState)
    tops: list[int] = field(default_factory=lambda: [BEGIN_OF_TIME, BEGIN_OF_TIME])
    clock: Clock = field(default_factory=lambda: Clock(BEGIN_OF_TIME, BEGIN_OF_TIME))
    last: StepResult = field(default_factory=StepResult)

    def feed(self, lefts: Sequence[Row], rights: Sequence[Row], end: bool = False) -> Bag:
        inputs = {}
        for side, rows in enumerate((lefts, rights)):
            self.tops[side] = max([self.tops[side], *(row.t for row in rows)])
            if rows or self._sometimes():  # an empty frame and none must mean the same
                inputs[side] = frame_of(rows, side, self.hashing)
        marks = [
            BEGIN_OF_TIME if top == BEGIN_OF_TIME else top - delay
            for top, delay in zip(self.tops, self.delays, strict=True)
        ]
        after = END_OF_TIME if end else max(self.clock.after, min(marks))
        self.clock = Clock(self.clock.after, after)
        if self._sometimes():
            self._failed_attempt(inputs)
        if self._sometimes():
            cache.forget_all()
        self.last = self.join.step(self.state, inputs, self.clock)
        check_account(self.last)
        return bag(self.last, self.join.spec)

    def finish(self) -> Bag:
        return self.feed([], [], end=True)

    def _failed_attempt(self, inputs: dict[int, pl.DataFrame]) -> None:
        """The batch was run, perhaps in part and with other rows, and its writes were not kept."""
        assert self.trouble
        other = {
            side: frame.sample(fraction=self.trouble.random(), seed=self.trouble.randrange(99))
            for side, frame in inputs.items()
        }
        self.join.step(self.state.copy(), other, self.clock)

    def _sometimes(self) -> bool:
        return self.trouble is not None and self.trouble.random() < 0.3


def bag(result: StepResult, spec: IntervalJoinSpec) -> Bag:
    ids = ("l_id",) if spec.how.left_only else ("l_id", "r_id")
    out: Bag = Counter()
    for frame in result.main:
        assert frame.columns == list(spec.outputs)
        out.update(frame.select(ids).rows())
    return out


def check_account(result: StepResult) -> None:
    counts = result.counts
    for side in ("left", "right"):
        gone = counts[f"{side}.expired"] + counts[f"{side}.evicted"]
        assert counts[f"{side}.accepted"] == counts[f"{side}.held"] + gone
    assert counts["state_rows"] == counts["left.held"] + counts["right.held"]
    assert counts["peak_rows"] >= counts["state_rows"]
