"""A temporal join in memory, step by step, for its tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
from tests.kernels.join_harness import Hash, JoinHarness
from tests.kernels.temporal_join.oracle import Bag, Join, Row

from millstream.kernels.core.kernel import StepResult
from millstream.kernels.temporal_join.kernel import TemporalJoin, TemporalJoinSpec
from millstream.values import Direction, JoinType


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


class Harness(JoinHarness):
    types: ClassVar[Mapping[str, Any]] = {"l_id": pl.Int64, "l_k2": pl.Int64, "r_id": pl.Int64}

    def frame(self, rows: Sequence[Any], side: int) -> pl.DataFrame:
        return frame_of(rows, side, self.hashing)

    def output(self, result: StepResult) -> Bag:
        out: Bag = Counter()
        for frame in result.main:
            assert frame.schema == self.types
            out.update(frame.select("l_id", "r_id").rows())
        return out


A, B = ("a", 1), ("b", 1)


def harness_of(
    how: JoinType = JoinType.INNER,
    direction: Direction = Direction.BACKWARD,
    tolerance: int | None = None,
    **more: object,
) -> Harness:
    return Harness(TemporalJoin(spec_of(Join(how, direction, tolerance), **more), Harness.types))


def versions(*times: int) -> list[Row]:
    """Of one key, each with its time for an id."""
    return [Row(t, t, A) for t in times]
