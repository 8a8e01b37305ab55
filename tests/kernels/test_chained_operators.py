"""Operators over rows that change or are late equal their definition, for any rows, batches, key
groups and restarts."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import polars as pl
import pytest
from tests.kernels.operator_chain import ROUNDS, Operator, cut

from millstream.kernels.aggregate.kernel import create_kernel, pre_aggregate
from millstream.kernels.core.kernel import DELETE, HASH, OP, UPDATE_BEFORE
from millstream.kernels.core.specs import AggregateSpec, CallSpec, OrderSpec, TopNSpec
from millstream.kernels.top_n.kernel import TopN
from millstream.kernels.top_n.prefilter import prefilter
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, Emit, Window, WindowKind

# --- the first rows of the first rows of each partition


def top_specs() -> tuple[TopNSpec, TopNSpec]:
    first = TopNSpec(
        ("d0",), (OrderSpec("id", descending=True), OrderSpec("g")), ("id", "g", "v"), 1
    )
    second = TopNSpec((), (OrderSpec("id", descending=True),), ("id", "g"), 5, over_changes=True)
    return first, second


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_top_n_over_the_changes_of_another(seed: int) -> None:
    rng = random.Random(seed)
    first, second = top_specs()
    inner = Operator(partial(TopN, first), rng, 3, partial(prefilter, first))
    outer = Operator(partial(TopN, second), rng, 1)
    many, kinds = rng.randint(1, 60), rng.choice([3, 8, 30])
    unique = rng.random() < 0.5
    ids = rng.sample(range(1000), many) if unique else [rng.randrange(12) for _ in range(many)]
    values = [rng.choice([None, *range(kinds)]) if unique else n % 5 for n in ids]
    rows = pl.DataFrame(
        {
            "id": ids,
            "g": [float(n % 3) for n in ids],
            "v": values,
            "d0": values,
            "_t": list(range(many)),
            "_h": [None if v is None else v * 7 for v in values],
        },
        schema_overrides={"v": pl.Int64, "d0": pl.Int64, "_h": pl.Int64},
    ).with_columns(pl.col("_h").fill_null(11))
    table: Counter[tuple[object, ...]] = Counter()
    seen = rows[:0]
    for batch in cut(rng, rows):
        seen = pl.concat([seen, batch])
        made = inner.step([batch], batch.height)
        changes = pl.concat(made) if made else pl.DataFrame()
        if changes.height:
            zero = pl.lit(0, pl.Int64)
            changes = changes.select("id", "g", OP, zero.alias("_t"), zero.alias(HASH))
        for frame in outer.step([changes], batch.height):
            for *row, op in frame.select("id", "g", OP).rows():
                table[tuple(row)] += -1 if op in (UPDATE_BEFORE, DELETE) else 1
        best: dict[object, tuple[int, float]] = {}
        for number, g, v in seen.select("id", "g", "v").rows():
            if v not in best or (number, -g) > (best[v][0], -best[v][1]):
                best[v] = (number, g)
        wanted = sorted(best.values(), key=lambda row: -row[0])[:5]
        assert +table == Counter(wanted)
        assert not -table


# --- a sliding aggregate with rows that are late for some of their windows


@pytest.mark.parametrize("emit", [Emit.FINAL, Emit.CHANGES])
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_sliding_aggregate_with_rows_late_for_some_windows(seed: int, emit: Emit) -> None:
    rng = random.Random(seed)
    slide, lateness = rng.choice([1, 4, 5]), rng.choice([0, 0, 6])
    window = Window(WindowKind.SLIDING, slide * rng.randint(2, 4), slide, rng.randrange(slide))
    calls = (CallSpec("count", "a0"), CallSpec("sum", "a1", "x"))
    spec = AggregateSpec(("k",), calls, window, emit, lateness)
    operator = Operator(partial(create_kernel, spec, {"a0": pl.Int64, "a1": pl.Int64}), rng, 3)
    operator.fold = partial(pre_aggregate, spec)
    many, delay = rng.randint(1, 50), rng.randint(0, 6)
    keys = [rng.randrange(4) for _ in range(many)]
    rows = pl.DataFrame(
        {
            "k": keys,
            "x": [rng.randint(-3, 3) for _ in keys],
            "_t": [100 + n // 2 + rng.randint(-20, 4) for n in range(many)],
            "_h": [key * 5 for key in keys],
        }
    )
    table: Counter[tuple[object, ...]] = Counter()
    groups: dict[tuple[int, int], list[int]] = {}
    top = BEGIN_OF_TIME
    batches = [*cut(rng, rows), rows[:0]]
    for number, batch in enumerate(batches):
        before = operator.watermark
        for key, x, t in batch.select("k", "x", "_t").rows():
            last = t - (t - window.offset) % slide
            for start in range(last, last - window.size, -slide):
                if start + window.size + lateness > before:
                    groups.setdefault((key, start), []).append(x)
        top = max([top, *batch["_t"].to_list()])
        after = END_OF_TIME if number == len(batches) - 1 else top - delay
        for frame in operator.step([batch], after):
            ops = frame[OP].to_list() if OP in frame.columns else [0] * frame.height
            names = ("k", "_window_start", "a0", "a1")
            for row, op in zip(frame.select(names).rows(), ops, strict=True):
                table[row] += -1 if op in (UPDATE_BEFORE, DELETE) else 1
        shown = {
            (key, start, len(found), sum(found))
            for (key, start), found in groups.items()
            if emit is Emit.CHANGES or start + window.size <= operator.watermark
        }
        assert +table == Counter(shown), (spec, number)
        assert not -table
