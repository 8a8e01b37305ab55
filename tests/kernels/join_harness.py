"""Common parts of the test harnesses of joins: watermark, lost caches, retried batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import polars as pl

from millstream.kernels.core.kernel import StepResult, WatermarkAdvance
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

Hash = Callable[[Any], int]  # of a row


def own_hash(row: Any) -> int:
    return hash(row.key)


def integer_key(row: Any) -> int:
    return cast("int", row.key[1])


def colliding_hash(row: Any) -> int:
    return len(str(row.key)) % 2


@dataclass
class JoinHarness:
    """Watermark: the least over the sides of the greatest time seen less the side's delay."""

    join: Any
    delays: tuple[int, int] = (0, 0)
    hashing: Hash = own_hash
    trouble: random.Random | None = None  # decides when caches are lost and batches are retried
    state: MemoryState = field(default_factory=MemoryState)
    tops: list[int] = field(default_factory=lambda: [BEGIN_OF_TIME, BEGIN_OF_TIME])
    advance: WatermarkAdvance = field(
        default_factory=lambda: WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    )
    last: StepResult = field(default_factory=StepResult)

    def feed(
        self,
        lefts: Sequence[Any] = (),
        rights: Sequence[Any] = (),
        end: bool = False,
        to: int | None = None,
    ) -> Any:
        """Runs one batch. `to` overrides the watermark after it."""
        inputs = {}
        for side, came in enumerate((lefts, rights)):
            self.tops[side] = max([self.tops[side], *(row.t for row in came)])
            if came or self.sometimes():  # an empty frame and none must mean the same
                inputs[side] = self.frame(came, side)
        marks = [
            BEGIN_OF_TIME if top == BEGIN_OF_TIME else top - delay
            for top, delay in zip(self.tops, self.delays, strict=True)
        ]
        mark = min(marks) if to is None else to
        after = END_OF_TIME if end else max(self.advance.after, mark)
        self.advance = WatermarkAdvance(self.advance.after, after)
        if self.sometimes():
            self._failed_attempt(inputs)
        if self.sometimes():
            cache.clear_cache()
        before = self.state.copy() if self.sometimes() else None
        self.last = self.join.step(self.state, inputs, self.advance)
        self.check(self.last)
        if before is not None:  # the batch again, from where it began
            again = self.join.step(before, inputs, self.advance)
            assert again.counts == self.last.counts
            assert self.output(again) == self.output(self.last)
            self.state = before
        return self.output(self.last)

    def finish(self) -> Any:
        return self.feed(end=True)

    def frame(self, rows: Sequence[Any], side: int) -> pl.DataFrame:
        """Returns the rows of one input as the kernel reads them."""
        raise NotImplementedError

    def output(self, result: StepResult) -> Any:
        """Returns the output in the form that tests compare."""
        raise NotImplementedError

    def check(self, result: StepResult) -> None:
        """Checks that the counts balance."""
        check_ledger(result)

    def _failed_attempt(self, inputs: dict[int, pl.DataFrame]) -> None:
        """Runs the batch, perhaps in part and with other rows, and discards its writes."""
        assert self.trouble
        other = {
            side: frame.sample(fraction=self.trouble.random(), seed=self.trouble.randrange(99))
            for side, frame in inputs.items()
        }
        self.join.step(self.state.copy(), other, self.advance)

    def sometimes(self) -> bool:
        return self.trouble is not None and self.trouble.random() < 0.3


def check_ledger(result: StepResult) -> None:
    counts = result.counts
    for side in ("left", "right"):
        gone = sum(counts[f"{side}.{outcome}"] for outcome in ("processed", "expired", "evicted"))
        assert counts[f"{side}.accepted"] == counts[f"{side}.in_state"] + gone
    assert counts["state_rows"] == counts["left.in_state"] + counts["right.in_state"]
    assert counts["peak_rows"] >= counts["state_rows"]
