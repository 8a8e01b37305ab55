"""Aggregates over the last rows against their definition."""

from __future__ import annotations

import random
from dataclasses import replace

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import single_input, strategies
from tests.kernels.over_aggregate.oracle import FUNCTIONS, Oracle, same
from tests.kernels.single_input import Harness, Row

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.core.specs import CallSpec, OverAggregateSpec
from millstream.kernels.over_aggregate.kernel import OverAggregate
from millstream.kernels.state.compaction import LogSettings
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, LateAction, LatePolicy

TYPES = {"sum(x)": pl.Int64, "sum(y)": pl.Float64, "avg(x)": pl.Float64}
NAMES = st.lists(st.sampled_from(list(FUNCTIONS)), unique=True, max_size=4)
PRECEDING = st.sampled_from([None, 0, 1, 2, 3, 6, 100])
TTL = st.sampled_from([None, 0, 8, 30])


def call_of(name: str) -> CallSpec:
    function, _, rest = name.partition("(")
    argument = None if rest[0] == "*" else rest[0]
    return CallSpec(function, name, argument, ignore_nulls="nulls" not in rest)


def kernel(
    names: list[str], preceding: int | None, ttl: int | None, settings: LogSettings | None = None
) -> OverAggregate:
    calls = tuple(map(call_of, names))
    late = LatePolicy(LateAction.SIDE_OUTPUT)
    spec = OverAggregateSpec(("k1", "k2"), ("id", "x"), preceding, calls, ttl, late=late)
    return OverAggregate(spec, TYPES, settings)


@given(
    single_input.rows(), st.data(), NAMES, PRECEDING, TTL,
    strategies.log_settings, single_input.trouble,
    single_input.hashes,
)  # fmt: skip
def test_every_batch_emits_exactly_the_rows_that_time_has_passed(
    rows: list[Row], data: st.DataObject, names: list[str], preceding: int | None,
    ttl: int | None, settings: LogSettings, trouble: random.Random | None,
    hashing: single_input.Hash,
) -> None:  # fmt: skip
    rows = [replace(row, key=(row.key[0], 1)) for row in rows]  # fewer partitions, longer frames
    batches, delay = data.draw(st.one_of(single_input.any_order(rows), single_input.in_time(rows)))
    harness = Harness(kernel(names, preceding, ttl, settings), delay, hashing, trouble)
    oracle = Oracle(preceding, names, ttl)
    fed = 0
    for number, batch in enumerate([*batches, []]):
        out = harness.feed(batch, end=number == len(batches))
        expected = oracle.step(batch, harness.advance)
        fed += len(batch)
        assert [row["id"] for row in out] == list(expected)
        for row in out:
            assert list(row) == ["id", "x", *names]
            values = [row[name] for name in names]
            assert all(map(same, values, expected[row["id"]])), (values, expected[row["id"]])
        counts = harness.last.counts
        assert counts["input.late"] == oracle.late
        assert counts["input.in_state"] == oracle.stored(harness.advance)
        assert counts["input.accepted"] + counts["input.late"] == fed
        gone = sum(counts[f"input.{outcome}"] for outcome in ("processed", "expired", "evicted"))
        assert counts["input.accepted"] == counts["input.in_state"] + gone
        if preceding is not None:
            assert counts["state_rows"] == counts["input.in_state"]


@given(single_input.rows(), st.data(), NAMES, PRECEDING, TTL, single_input.trouble)
def test_any_order_of_rows_in_time_the_same_frames_are_emitted(
    rows: list[Row], data: st.DataObject, names: list[str], preceding: int | None, ttl: int | None,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    rows = list({row.t: row for row in rows}.values())  # of equal times, the order is arrival's
    batches, delay = data.draw(single_input.in_time(rows))
    harness = Harness(kernel(names, preceding, ttl), delay, trouble=trouble)
    out = [row for batch in batches for row in harness.feed(batch)] + harness.finish()
    expected = Oracle(preceding, names, ttl).step(
        rows, WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)
    )
    assert [row["id"] for row in out] == list(expected)
    for row in out:
        assert all(map(same, [row[name] for name in names], expected[row["id"]]))
