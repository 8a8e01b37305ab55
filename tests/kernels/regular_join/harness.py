"""A harness for regular joins in tests: makes frames, keeps the watermark, loses caches,
retries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
from tests.kernels.join_harness import Hash, JoinHarness, check_ledger
from tests.kernels.regular_join.oracle import Change, Join, Row, Weights

from millstream.kernels.core.kernel import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, StepResult
from millstream.kernels.regular_join.kernel import RegularJoin, RegularJoinSpec
from millstream.scalars import Predicate
from millstream.values import JoinType

BOTH = (True, True)


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
    """`updates`: changes are output as old and new values, not as rows that come and go."""
    one = "lr"[side]
    plus, minus = (UPDATE_AFTER, UPDATE_BEFORE) if updates else (INSERT, DELETE)
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


class Harness(JoinHarness):
    types: ClassVar[Mapping[str, Any]] = {
        "l_id": pl.Int64, "l_x": pl.Float64, "r_id": pl.Int64, "r_x": pl.Float64,
    }  # fmt: skip

    def frame(self, rows: Sequence[Any], side: int) -> pl.DataFrame:
        retracts = self.join.spec.over_changes[side]
        return frame_of(rows, side, self.hashing, retracts, self.sometimes())

    def output(self, result: StepResult) -> Weights:
        spec = self.join.spec
        columns = spec.left_columns if spec.how.left_only else (*self.types,)
        ids = ("l_id",) if spec.how.left_only else ("l_id", "r_id")
        ops = ["_op"] if spec.retracts else []
        out: Weights = Counter()
        output = False
        for frame in result.main:
            assert frame.schema == {
                **{name: self.types[name] for name in columns},
                **dict.fromkeys(ops, pl.Int8),
            }
            kinds = set(frame["_op"].to_list()) if ops else {INSERT}
            assert kinds in ({INSERT}, {DELETE})
            assert not (output and kinds == {DELETE}), "retracted after something was output"
            output = output or kinds == {INSERT}
            for row in frame.select(ids).rows():
                out[row] += 1 if kinds == {INSERT} else -1
        return Counter({row: weight for row, weight in out.items() if weight})

    def check(self, result: StepResult) -> None:
        check_ledger(result)


A, B = ("a", 1), ("b", 1)


def plus(id_: int, key: tuple[str | None, int | None] = A, t: int = 0, x: float = 0.0) -> Change:
    return Change(Row(id_, key, x), t)


def minus(id_: int, key: tuple[str | None, int | None] = A, t: int = 0, x: float = 0.0) -> Change:
    return Change(Row(id_, key, x), t, -1)


def harness_of(
    how: JoinType,
    over_changes: tuple[bool, bool] = (False, False),
    ttl: int | None = None,
    across: Predicate | None = None,
    **more: object,
) -> Harness:
    return Harness(
        RegularJoin(spec_of(Join(how, ttl), over_changes, across, **more), Harness.types)
    )


def rows_of(harness: Harness) -> list[tuple[object, ...]]:
    return [row for frame in harness.last.main for row in frame.rows()]
