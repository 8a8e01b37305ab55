"""A host for regular joins in tests: makes frames, keeps the watermark, loses caches, retries."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import polars as pl
from tests.kernels.host import check_account
from tests.kernels.regular_join_oracle import Change, Join, Row, Weights

from millstream.kernels.base import AFTER, BEFORE, DELETE, INSERT, Clock, StepResult
from millstream.kernels.joins.regular.kernel import RegularJoin, RegularJoinSpec
from millstream.kernels.state import rows as cache
from millstream.kernels.state.memory import MemoryState
from millstream.plan.nodes import JoinType, Predicate
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

Hash = Callable[[Row], int]
BOTH = (True, True)


def own_hash(row: Row) -> int:
    return hash(row.key)


def integer_key(row: Row) -> int:
    return cast("int", row.key[1])


def colliding_hash(row: Row) -> int:
    return len(str(row.key)) % 2


def spec_of(
    join: Join,
    over_changes: tuple[bool, bool] = (False, False),
    across: Predicate | None = None,
    **more: object,
) -> RegularJoinSpec:
    return RegularJoinSpec(
        join.how, ("l_k1", "l_k2"), ("r_k1", "r_k2"), ("l_id", "l_x"), ("r_id", "r_x"),
        join.ttl, over_changes, across, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def frame_of(
    changes: Sequence[Change], side: int, hashing: Hash, retracts: bool, updates: bool = False
) -> pl.DataFrame:
    """`updates`: changes are told as old and new values, not as rows that come and go."""
    one = "lr"[side]
    plus, minus = (AFTER, BEFORE) if updates else (INSERT, DELETE)
    frame = pl.DataFrame(
        [
            (
                c.t, *c.row.key, c.row.x, c.row.id,
                None if None in c.row.key else hashing(c.row),
                plus if c.weight > 0 else minus,
            )
            for c in changes
        ],
        schema={
            "_t": pl.Int64,
            f"{one}_k1": pl.String,
            f"{one}_k2": pl.Int64,
            f"{one}_x": pl.Float64,
            f"{one}_id": pl.Int64,
            "_h": pl.Int64,
            "_op": pl.Int8,
        },
        orient="row",
    )  # fmt: skip
    return frame if retracts else frame.drop("_op")


@dataclass
class Host:
    """Watermark: the least over the sides of the greatest time seen less the side's delay."""

    types: ClassVar[Mapping[str, Any]] = {
        "l_id": pl.Int64, "l_x": pl.Float64, "r_id": pl.Int64, "r_x": pl.Float64,
    }  # fmt: skip

    join: RegularJoin
    delays: tuple[int, int] = (0, 0)
    hashing: Hash = own_hash
    trouble: random.Random | None = None  # decides when caches are lost and batches are retried
    state: MemoryState = field(default_factory=MemoryState)
    tops: list[int] = field(default_factory=lambda: [BEGIN_OF_TIME, BEGIN_OF_TIME])
    clock: Clock = field(default_factory=lambda: Clock(BEGIN_OF_TIME, BEGIN_OF_TIME))
    last: StepResult = field(default_factory=StepResult)

    def feed(
        self, lefts: Sequence[Change] = (), rights: Sequence[Change] = (), end: bool = False
    ) -> Weights:
        inputs = {}
        for side, came in enumerate((lefts, rights)):
            self.tops[side] = max([self.tops[side], *(change.t for change in came)])
            if came or self._sometimes():  # an empty frame and none must mean the same
                retracts = self.join.spec.over_changes[side]
                inputs[side] = frame_of(came, side, self.hashing, retracts, self._sometimes())
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
            assert self._weights(again) == self._weights(self.last)
            self.state = before
        return self._weights(self.last)

    def finish(self) -> Weights:
        return self.feed(end=True)

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

    def _weights(self, result: StepResult) -> Weights:
        spec = self.join.spec
        columns = spec.left_columns if spec.how.left_only else (*self.types,)
        ids = ("l_id",) if spec.how.left_only else ("l_id", "r_id")
        ops = ["_op"] if spec.retracts else []
        out: Weights = Counter()
        told = False
        for frame in result.main:
            assert frame.schema == {
                **{name: self.types[name] for name in columns},
                **dict.fromkeys(ops, pl.Int8),
            }
            kinds = set(frame["_op"].to_list()) if ops else {INSERT}
            assert kinds in ({INSERT}, {DELETE})
            assert not (told and kinds == {DELETE}), "taken back after something was told"
            told = told or kinds == {INSERT}
            for row in frame.select(ids).rows():
                out[row] += 1 if kinds == {INSERT} else -1
        return Counter({row: weight for row, weight in out.items() if weight})


A, B = ("a", 1), ("b", 1)


def plus(id_: int, key: tuple[str | None, int | None] = A, t: int = 0, x: float = 0.0) -> Change:
    return Change(Row(id_, key, x), t)


def minus(id_: int, key: tuple[str | None, int | None] = A, t: int = 0, x: float = 0.0) -> Change:
    return Change(Row(id_, key, x), t, -1)


def host_of(
    how: JoinType,
    over_changes: tuple[bool, bool] = (False, False),
    ttl: int | None = None,
    across: Predicate | None = None,
    **more: object,
) -> Host:
    return Host(RegularJoin(spec_of(Join(how, ttl), over_changes, across, **more), Host.types))


def rows_of(host: Host) -> list[tuple[object, ...]]:
    return [row for frame in host.last.main for row in frame.rows()]
