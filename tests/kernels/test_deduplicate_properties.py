"""Deduplication against its definition, for any data, order of arrival, settings and failures."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import single_input, strategies
from tests.kernels.single_input import Batches, Harness, Key, Row

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.deduplicate import Deduplicate, DeduplicateSpec
from millstream.kernels.state.compaction import LogSettings
from millstream.temporal import LateAction, LatePolicy

WITHIN = st.sampled_from([None, 0, 3, 15])
LATE = st.sampled_from([LatePolicy(), LatePolicy(LateAction.REASSIGN, 6)])


@dataclass
class Oracle:
    """Remembers every row that passed, for ever."""

    within: int | None
    late: LatePolicy
    passed: list[tuple[Key, int]] = field(default_factory=list)
    late_rows: int = 0
    rows: int = 0

    def step(self, rows: list[Row], advance: WatermarkAdvance) -> set[int]:
        self.rows += len(rows)
        out = set()
        for row in sorted([self._at_its_time(row, advance) for row in rows], key=lambda row: row.t):
            if row.t < advance.before:
                self.late_rows += 1
            elif not self._known(row):
                self.passed.append((row.key, row.t))
                out.add(row.id)
        return out

    def _at_its_time(self, row: Row, advance: WatermarkAdvance) -> Row:
        behind = advance.before - row.t
        pardoned = self.late.action is LateAction.REASSIGN and 0 < behind <= self.late.budget
        return replace(row, t=advance.before) if pardoned else row

    def _known(self, row: Row) -> bool:
        return any(
            key == row.key and (self.within is None or abs(row.t - t) <= self.within)
            for key, t in self.passed
        )

    def stored(self, advance: WatermarkAdvance) -> int:
        if self.within is None:
            return len(self.passed)
        return sum(t + self.within >= advance.after for _, t in self.passed)


def check(harness: Harness, oracle: Oracle) -> None:
    counts = harness.last.counts
    accepted = counts["input.accepted"]
    assert accepted == counts["rows_out"] == len(oracle.passed)
    assert counts["input.in_state"] == counts["state_rows"] == oracle.stored(harness.advance)
    assert accepted == counts["input.in_state"] + counts["input.expired"] + counts["input.evicted"]
    assert counts["input.late"] == oracle.late_rows
    assert oracle.rows == accepted + counts["input.duplicate"] + counts["input.late"]


@given(
    single_input.rows(),
    st.data(),
    WITHIN,
    LATE,
    strategies.log_settings,
    single_input.trouble,
    single_input.hashes,
)
def test_every_batch_emits_exactly_the_new_keys(
    rows: list[Row], data: st.DataObject, within: int | None, late: LatePolicy,
    settings: LogSettings, trouble: random.Random | None, hashing: single_input.Hash,
) -> None:  # fmt: skip
    batches, delay = data.draw(st.one_of(single_input.any_order(rows), single_input.in_time(rows)))
    spec = DeduplicateSpec(("k1", "k2"), ("id", "x"), within, late)
    harness = Harness(Deduplicate(spec, settings=settings), delay, hashing, trouble)
    oracle = Oracle(within, late)
    for batch in batches:
        out = [row["id"] for row in harness.feed(batch)]
        passing = oracle.step(batch, harness.advance)
        assert out == [row.id for row in batch if row.id in passing]
        check(harness, oracle)
    assert harness.finish() == []


@given(single_input.rows(), st.data(), single_input.trouble)
def test_any_order_of_rows_in_time_the_same_keys_pass(
    rows: list[Row], data: st.DataObject, trouble: random.Random | None
) -> None:
    batches, delay = data.draw(single_input.in_time(rows))
    spec = DeduplicateSpec(("k1", "k2"), ("k1", "k2"), None)
    harness = Harness(Deduplicate(spec), delay, trouble=trouble)
    out = [tuple(row.values()) for batch in batches for row in harness.feed(batch)]
    assert len(out) == len(set(out))
    assert set(out) == {row.key for row in rows}


@given(single_input.rows(), st.data(), WITHIN, single_input.trouble)
def test_rows_in_the_order_of_time_pass_alike_however_they_are_batched(
    rows: list[Row], data: st.DataObject, within: int | None, trouble: random.Random | None
) -> None:
    rows = sorted(rows, key=lambda row: row.t)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=5)))
    batches: Batches = [
        rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)
    ]
    spec = DeduplicateSpec(("k1", "k2"), ("id",), within)
    harness = Harness(Deduplicate(spec), trouble=trouble)
    out = [row["id"] for batch in batches for row in harness.feed(batch)]
    whole = Harness(Deduplicate(spec)).feed(rows)
    assert out == [row["id"] for row in whole]
