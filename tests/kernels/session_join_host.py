"""A session join in memory, step by step, for its tests."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import polars as pl
import pytest
from tests.kernels.session_join_oracle import Bag, Join, Row

from millstream.kernels.base import Clock, StepResult
from millstream.kernels.joins.session.kernel import SessionJoin, SessionJoinSpec
from millstream.kernels.state import rows as cache
from millstream.kernels.state.memory import MemoryState
from millstream.plan.nodes import JoinType
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    Emit,
)

Hash = Callable[[Row], int]


def own_hash(row: Row) -> int:
    return hash(row.key)


def integer_key(row: Row) -> int:
    return cast("int", row.key[1])


def colliding_hash(row: Row) -> int:
    return len(str(row.key)) % 2


def spec_of(join: Join, **more: object) -> SessionJoinSpec:
    return SessionJoinSpec(
        join.how, join.gap, ("l_k1", "l_k2"), ("r_k1", "r_k2"), ("l_id", "l_k2"), ("r_id",),
        join.emit, join.lateness, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def frame_of(rows: Sequence[Row], side: int, hashing: Hash) -> pl.DataFrame:
    one = "lr"[side]
    return pl.DataFrame(
        [(row.t, *row.key, row.id, None if None in row.key else hashing(row)) for row in rows],
        schema={
            "_t": pl.Int64,
            f"{one}_k1": pl.String,
            f"{one}_k2": pl.Int64,
            f"{one}_id": pl.Int64,
            "_h": pl.Int64,
        },
        orient="row",
    )


@dataclass
class Host:
    """Watermark: the least over the sides of the greatest time seen less the side's delay."""

    types: ClassVar[Mapping[str, Any]] = {"l_id": pl.Int64, "l_k2": pl.Int64, "r_id": pl.Int64}

    join: SessionJoin
    delays: tuple[int, int] = (0, 0)
    hashing: Hash = own_hash
    trouble: random.Random | None = None  # decides when caches are lost and batches are retried
    state: MemoryState = field(default_factory=MemoryState)
    tops: list[int] = field(default_factory=lambda: [BEGIN_OF_TIME, BEGIN_OF_TIME])
    clock: Clock = field(default_factory=lambda: Clock(BEGIN_OF_TIME, BEGIN_OF_TIME))
    last: StepResult = field(default_factory=StepResult)

    def feed(
        self, lefts: Sequence[Row], rights: Sequence[Row], end: bool = False, to: int | None = None
    ) -> Bag:
        """`to`: the watermark after it, where it is not what the rows say."""
        inputs = {}
        for side, came in enumerate((lefts, rights)):
            self.tops[side] = max([self.tops[side], *(row.t for row in came)])
            if came or self._sometimes():  # an empty frame and none must mean the same
                inputs[side] = frame_of(came, side, self.hashing)
        marks = [
            BEGIN_OF_TIME if top == BEGIN_OF_TIME else top - delay
            for top, delay in zip(self.tops, self.delays, strict=True)
        ]
        mark = min(marks) if to is None else to
        after = END_OF_TIME if end else max(self.clock.after, mark)
        self.clock = Clock(self.clock.after, after)
        if self._sometimes():
            self._failed_attempt(inputs)
        if self._sometimes():
            cache.forget_all()
        before = self.state.copy() if self._sometimes() else None
        self.last = self.join.step(self.state, inputs, self.clock)
        check_account(self.last)
        if before is not None:  # the batch again, from where it began
            again = self.join.step(before, inputs, self.clock)
            assert again.counts == self.last.counts
            assert self._bag(again) == self._bag(self.last)
            self.state = before
        return self._bag(self.last)

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

    def _bag(self, result: StepResult) -> Bag:
        out: Bag = Counter()
        left_only = self.join.spec.how.left_only
        names = [name for name in self.types if not (left_only and name == "r_id")]
        wanted = {name: self.types[name] for name in names}
        for frame in result.main:
            assert frame.schema == {**wanted, "_window_start": pl.Int64, "_window_end": pl.Int64}
            right = pl.lit(None).alias("r_id") if left_only else "r_id"
            out.update(frame.select("l_id", right, "_window_start", "_window_end").rows())
        return out


def check_account(result: StepResult) -> None:
    counts = result.counts
    for side in ("left", "right"):
        gone = counts[f"{side}.expired"] + counts[f"{side}.evicted"]
        assert counts[f"{side}.accepted"] == counts[f"{side}.held"] + gone
        assert counts[f"{side}.expired"] >= 0
    assert counts["state_rows"] >= counts["left.held"] + counts["right.held"]
    assert counts["peak_rows"] >= counts["state_rows"]


A, B, NO_KEY = ("a", 1), ("b", 1), (None, 1)
FINAL, CHANGES = Emit.FINAL, Emit.CHANGES
EITHER = pytest.mark.parametrize("emit", [FINAL, CHANGES])


def host_of(how: JoinType = JoinType.INNER, emit: Emit = FINAL, **more: Any) -> Host:
    join = Join(how, 5, emit, more.pop("lateness", 0))
    return Host(SessionJoin(spec_of(join, **more), Host.types))


def at(*times: int, key: Any = A, first: int = 0) -> list[Row]:
    """Rows of one key, numbered from `first`."""
    return [Row(first + number, t, key) for number, t in enumerate(times)]
