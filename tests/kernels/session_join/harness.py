"""A session join in memory, step by step, for its tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
import pytest
from tests.kernels.join_harness import Hash, JoinHarness
from tests.kernels.session_join.oracle import Bag, Join, Row

from millstream.kernels.core.kernel import StepResult
from millstream.kernels.session_join.kernel import SessionJoin, SessionJoinSpec
from millstream.temporal import (
    Emit,
)
from millstream.values import JoinType


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


class Harness(JoinHarness):
    types: ClassVar[Mapping[str, Any]] = {"l_id": pl.Int64, "l_k2": pl.Int64, "r_id": pl.Int64}

    def frame(self, rows: Sequence[Any], side: int) -> pl.DataFrame:
        return frame_of(rows, side, self.hashing)

    def output(self, result: StepResult) -> Bag:
        out: Bag = Counter()
        left_only = self.join.spec.how.left_only
        names = [name for name in self.types if not (left_only and name == "r_id")]
        wanted = {name: self.types[name] for name in names}
        for frame in result.main:
            assert frame.schema == {**wanted, "_window_start": pl.Int64, "_window_end": pl.Int64}
            right = pl.lit(None).alias("r_id") if left_only else "r_id"
            out.update(frame.select("l_id", right, "_window_start", "_window_end").rows())
        return out

    def check(self, result: StepResult) -> None:
        check_ledger(result)


def check_ledger(result: StepResult) -> None:
    counts = result.counts
    for side in ("left", "right"):
        gone = sum(counts[f"{side}.{outcome}"] for outcome in ("processed", "expired", "evicted"))
        assert counts[f"{side}.accepted"] == counts[f"{side}.in_state"] + gone
        assert counts[f"{side}.processed"] >= 0
    assert counts["state_rows"] >= counts["left.in_state"] + counts["right.in_state"]
    assert counts["peak_rows"] >= counts["state_rows"]


A, B, NO_KEY = ("a", 1), ("b", 1), (None, 1)
FINAL, CHANGES = Emit.FINAL, Emit.CHANGES
EITHER = pytest.mark.parametrize("emit", [FINAL, CHANGES])


def harness_of(how: JoinType = JoinType.INNER, emit: Emit = FINAL, **more: Any) -> Harness:
    join = Join(how, 5, emit, more.pop("lateness", 0))
    return Harness(SessionJoin(spec_of(join, **more), Harness.types))


def at(*times: int, key: Any = A, first: int = 0) -> list[Row]:
    """Rows of one key, numbered from `first`."""
    return [Row(first + number, t, key) for number, t in enumerate(times)]
