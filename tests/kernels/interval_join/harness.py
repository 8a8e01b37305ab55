"""A harness for interval joins in tests: creates frames, advances the watermark, loses caches,
retries batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl
from tests.kernels.interval_join.oracle import Bag, Row
from tests.kernels.join_harness import Hash, JoinHarness

from millstream.kernels.core.kernel import StepResult
from millstream.kernels.interval_join.kernel import IntervalJoinSpec

LEFT_COLUMNS, RIGHT_COLUMNS = ("l_id",), ("r_id",)
KEYS = (("l_k1", "l_k2"), ("r_k1", "r_k2"))


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


class Harness(JoinHarness):
    def frame(self, rows: Sequence[Any], side: int) -> pl.DataFrame:
        return frame_of(rows, side, self.hashing)

    def output(self, result: StepResult) -> Bag:
        return bag(result, self.join.spec)


def bag(result: StepResult, spec: IntervalJoinSpec) -> Bag:
    ids = ("l_id",) if spec.how.left_only else ("l_id", "r_id")
    out: Bag = Counter()
    for frame in result.main:
        assert frame.columns == list(spec.outputs)
        out.update(frame.select(ids).rows())
    return out
