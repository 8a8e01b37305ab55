"""A temporal join in memory, step by step, for its tests."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import polars as pl
from tests.kernels.host import check_account
from tests.kernels.temporal_oracle import Bag, Join, Row

from millstream.kernels.base import Clock, StepResult
from millstream.kernels.joins.temporal.kernel import TemporalJoin, TemporalJoinSpec
from millstream.kernels.state import rows as cache
from millstream.kernels.state.memory import MemoryState
from millstream.plan.nodes import Direction, JoinType
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
)

Hash = Callable[[Row], int]


def own_hash(row: Row) -> int:
    return hash(row.key)


def integer_key(row: Row) -> int:
    return cast("int", row.key[1])


def colliding_hash(row: Row) -> int:
    return len(str(row.key)) % 2


def spec_of(join: Join, **more: object) -> TemporalJoinSpec:
    return TemporalJoinSpec(
        join.how, ("l_k1", "l_k2"), ("r_k1", "r_k2"), ("l_id", "l_k2"), ("r_id",),
        join.direction, join.tolerance, deletes="r_ends", **more,  # type: ignore[arg-type]
    )  # fmt: skip


def frame_of(rows: Sequence[Row], side: int, hashing: Hash) -> pl.DataFrame:
    one = "lr"[side]
    frame = pl.DataFrame(
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
    if side == 1:
        frame = frame.with_columns(pl.Series("r_ends", [row.ends for row in rows], pl.Boolean))
    return frame


@dataclass
class Host:
    """Watermark: the least over the sides of the greatest time seen less the side's delay."""

    types: ClassVar[Mapping[str, Any]] = {"l_id": pl.Int64, "l_k2": pl.Int64, "r_id": pl.Int64}

    join: TemporalJoin
    delays: tuple[int, int] = (0, 0)
    hashing: Hash = own_hash
    trouble: random.Random | None = None  # decides when caches are lost and batches are retried
    state: MemoryState = field(default_factory=MemoryState)
    tops: list[int] = field(default_factory=lambda: [BEGIN_OF_TIME, BEGIN_OF_TIME])
    clock: Clock = field(default_factory=lambda: Clock(BEGIN_OF_TIME, BEGIN_OF_TIME))
    last: StepResult = field(default_factory=StepResult)

    def feed(self, rows: Sequence[Row], versions: Sequence[Row], end: bool = False) -> Bag:
        inputs = {}
        for side, came in enumerate((rows, versions)):
            self.tops[side] = max([self.tops[side], *(row.t for row in came)])
            if came or self._sometimes():  # an empty frame and none must mean the same
                inputs[side] = frame_of(came, side, self.hashing)
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
        for frame in result.main:
            assert frame.schema == self.types
            out.update(frame.select("l_id", "r_id").rows())
        return out


A, B = ("a", 1), ("b", 1)


def host_of(
    how: JoinType = JoinType.INNER,
    direction: Direction = Direction.BACKWARD,
    tolerance: int | None = None,
    **more: object,
) -> Host:
    return Host(TemporalJoin(spec_of(Join(how, direction, tolerance), **more), Host.types))


def versions(*times: int) -> list[Row]:
    """Of one key, each with its time for an id."""
    return [Row(t, t, A) for t in times]
