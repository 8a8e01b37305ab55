"""The first n rows against their definition, for any data, order, arrival and failures."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import single_input, strategies
from tests.kernels.single_input import Batches, Harness, Row
from tests.kernels.top_n.oracle import Oracle, Out

from millstream.kernels.core.kernel import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    WatermarkAdvance,
)
from millstream.kernels.core.specs import OrderSpec, TopNSpec
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.top_n.kernel import TopN
from millstream.kernels.top_n.prefilter import prefilter
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, Emit, LateAction, LatePolicy

TERM = st.builds(OrderSpec, st.sampled_from(["x", "y"]), st.booleans(), st.booleans())
TERMS = st.lists(TERM, max_size=2).map(tuple)
COLUMNS = st.sampled_from([("id", "x"), ("x",), ("x", "k1")])
RANK = st.sampled_from([None, "place"])
N = st.integers(1, 4)


def windowed(rows: list[Row]) -> list[Row]:
    return [replace(row, due=(row.t // 20 + 1) * 20) for row in rows]


@st.composite
def with_retractions(draw: st.DrawFn, rows: list[Row]) -> Batches:
    """Rows of which some are retracted, in the batch they came in or a later one."""
    count = draw(st.integers(1, 5))
    batches: Batches = [[] for _ in range(count)]
    for row in rows:
        comes = draw(st.integers(0, count - 1))
        batches[comes].append(replace(row, op=draw(st.sampled_from([INSERT, UPDATE_AFTER]))))
        if draw(st.booleans()):
            goes = draw(st.integers(comes, count - 1))
            batches[goes].append(replace(row, op=draw(st.sampled_from([UPDATE_BEFORE, DELETE]))))
    return batches


def run(harness: Harness, oracle: Oracle, batches: Batches) -> Out:
    """Compares every batch with the definition and gives the sum of all changes."""
    total: Out = Counter()
    spec, changes = oracle.spec, oracle.spec.emit is Emit.CHANGES
    names = [*spec.columns, *([spec.rank] if spec.rank else []), *(["_op"] if changes else [])]
    fed = 0
    for number, batch in enumerate([*batches, []]):
        rows = harness.feed(batch, end=number == len(batches))
        fed += len(batch)
        assert all(list(row) == names for row in rows)
        out: Out = Counter(tuple(row.values()) for row in rows)
        expected = oracle.step(batch, harness.advance)
        if spec.rank:
            assert out == expected
        else:
            assert settled(out, changes) == settled(expected, changes)
        total.update(out)
        counts = harness.last.counts
        gone = sum(counts[f"input.{outcome}"] for outcome in ("processed", "expired", "evicted"))
        assert counts["input.accepted"] == counts["input.in_state"] + gone
        assert counts["input.accepted"] + counts["input.late"] == fed
        assert counts["input.late"] == oracle.late
        assert counts["rows_out"] == sum(total.values())
        assert gone >= 0
        if not spec.over_changes:
            most = sum(min(len(rows), spec.n) for rows in oracle.rows.values())
            assert counts["input.in_state"] == most
        else:
            assert counts["input.in_state"] == sum(map(len, oracle.rows.values()))
    retracted = sum(
        count for row, count in total.items() if changes and row[-1] in (UPDATE_BEFORE, DELETE)
    )
    assert harness.last.counts["retractions"] == retracted
    return total


def settled(out: Out, changes: bool) -> Out:
    """What is added less what is retracted: a row may leave and another like it come in."""
    if not changes:
        return out
    sums: Out = Counter()
    for row, count in out.items():
        sums[row[:-1]] += -count if row[-1] in (UPDATE_BEFORE, DELETE) else count
    return Counter({row: count for row, count in sums.items() if count})


@given(
    single_input.rows(), st.data(), TERMS, COLUMNS, N, RANK,
    strategies.log_settings, single_input.trouble,
    single_input.hashes, st.sampled_from([None, 0, 8]), st.booleans(),
)  # fmt: skip
def test_changes_of_rows_that_stay(
    rows: list[Row], data: st.DataObject, order: tuple[OrderSpec, ...], columns: tuple[str, ...],
    n: int, rank: str | None, settings: LogSettings, trouble: random.Random | None,
    hashing: single_input.Hash, ttl: int | None, folded: bool,
) -> None:  # fmt: skip
    spec = TopNSpec(("k1", "k2"), order, columns, n, rank, ttl=ttl)
    batches, delay = data.draw(single_input.any_order(rows))
    harness = Harness(TopN(spec, settings=settings), delay, hashing, trouble)
    harness.fold = partial(prefilter, spec) if folded else None
    oracle = Oracle(spec)
    total = run(harness, oracle, batches)
    if ttl is None:
        assert settled(total, True) == oracle.tables()


@given(
    single_input.rows(), st.data(), TERMS, COLUMNS, N, RANK,
    strategies.log_settings, single_input.trouble,
    single_input.hashes, st.sampled_from([None, 0, 8]),
)  # fmt: skip
def test_changes_of_rows_that_may_be_retracted(
    rows: list[Row], data: st.DataObject, order: tuple[OrderSpec, ...], columns: tuple[str, ...],
    n: int, rank: str | None, settings: LogSettings, trouble: random.Random | None,
    hashing: single_input.Hash, ttl: int | None,
) -> None:  # fmt: skip
    spec = TopNSpec(("k1",), order, columns, n, rank, ttl=ttl, over_changes=True)
    batches = data.draw(with_retractions(rows))
    harness = Harness(TopN(spec, settings=settings), 5, _by_first(hashing), trouble, more=("_op",))
    oracle = Oracle(spec)
    total = run(harness, oracle, batches)
    if ttl is None:
        assert settled(total, True) == oracle.tables()


@given(
    single_input.rows(), st.data(), TERMS, COLUMNS, N, RANK,
    strategies.log_settings, single_input.trouble,
    single_input.hashes, st.booleans(),
)  # fmt: skip
def test_the_first_rows_are_emitted_once_their_partition_is_due(
    rows: list[Row], data: st.DataObject, order: tuple[OrderSpec, ...], columns: tuple[str, ...],
    n: int, rank: str | None, settings: LogSettings, trouble: random.Random | None,
    hashing: single_input.Hash, changing: bool,
) -> None:  # fmt: skip
    late = LatePolicy(LateAction.SIDE_OUTPUT)
    spec = TopNSpec(
        ("due", "k1"), order, columns, n, rank, "due", Emit.FINAL, over_changes=changing, late=late
    )
    if changing:
        batches, delay = data.draw(with_retractions(windowed(rows))), 10
    else:
        batches, delay = data.draw(single_input.any_order(windowed(rows)))
    more = ("_op", "due") if changing else ("due",)
    harness = Harness(TopN(spec, settings=settings), delay, _by_first(hashing), trouble, more=more)
    run(harness, Oracle(spec), batches)
    assert harness.last.counts["state_rows"] == 0
    assert not harness.state.map("segments").content


@given(
    single_input.rows(),
    st.data(),
    TERMS,
    N,
    RANK,
    st.sampled_from(list(Emit)),
    single_input.trouble,
)
def test_any_order_of_rows_in_time_the_same_rows_are_first(
    rows: list[Row], data: st.DataObject, order: tuple[OrderSpec, ...], n: int, rank: str | None,
    emit: Emit, trouble: random.Random | None,
) -> None:  # fmt: skip
    spec = TopNSpec(("due", "k1"), (*order, OrderSpec("id")), ("id", "x"), n, rank, "due", emit)
    rows = windowed(rows)
    batches, delay = data.draw(single_input.in_time(rows))
    harness = Harness(TopN(spec), delay, _by_first(single_input.own_hash), trouble, more=("due",))
    out: Out = Counter()
    for batch in batches:
        out.update(tuple(row.values()) for row in harness.feed(batch))
    out.update(tuple(row.values()) for row in harness.finish())
    whole = Oracle(replace(spec, emit=Emit.FINAL)).step(
        rows, WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)
    )
    assert settled(out, emit is Emit.CHANGES) == whole


def _by_first(hashing: single_input.Hash) -> single_input.Hash:
    return lambda row: hashing(replace(row, key=(row.key[0], None)))
