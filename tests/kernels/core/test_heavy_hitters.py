"""The summary of the most frequent keys against exact counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.core import heavy_hitters as heavy
from millstream.kernels.core.heavy_hitters import HeavyHitter, HeavyHitters
from millstream.kernels.core.key_index import Ints

SIZES = st.integers(1, 6)
KEYS = st.one_of(st.integers(-3, 4), st.integers(-(2**63), 2**63 - 1))
CHUNKS = st.lists(st.lists(KEYS, max_size=40), max_size=6)


def ints(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, np.int64)


def check(summary: HeavyHitters, exact: Counter[int]) -> None:
    assert summary.rows == exact.total()
    found = {each.hash: each for each in summary.top(summary.size)}
    assert len(found) <= summary.size
    for key, count in exact.items():
        one = found.get(key, HeavyHitter(key, 0, summary.missed))
        assert one.least <= count <= one.most
    assert set(found) <= set(exact)
    assert 4 * summary.missed * (summary.size + 1) <= 5 * exact.total()


@pytest.fixture(params=[heavy.LARGE, 4], ids=["small chunks", "large chunks"])
def cut(request, monkeypatch):
    monkeypatch.setattr(heavy, "LARGE", request.param)


@pytest.mark.usefixtures("cut")
class TestGuarantee:
    @given(SIZES, CHUNKS)
    def test_no_count_is_too_high_or_too_low_by_more_than_the_bound(self, size, chunks) -> None:
        summary, exact = HeavyHitters(size), Counter[int]()
        for chunk in chunks:
            summary.add(ints(chunk))
            exact.update(chunk)
            check(summary, exact)

    @given(SIZES, CHUNKS, CHUNKS)
    def test_two_summaries_become_one(self, size, here, there) -> None:
        one, two, exact = HeavyHitters(size), HeavyHitters(size), Counter[int]()
        for summary, chunks in ((one, here), (two, there)):
            for chunk in chunks:
                summary.add(ints(chunk))
                exact.update(chunk)
        one.merge(HeavyHitters.of_data(json.loads(json.dumps(two.as_data()))))
        check(one, exact)

    @given(SIZES, st.lists(st.tuples(KEYS, st.integers(1, 9)), max_size=40))
    def test_a_row_may_represent_several(self, size, rows) -> None:
        summary, exact = HeavyHitters(size), Counter[int]()
        summary.add(ints([key for key, _ in rows]), ints([weight for _, weight in rows]))
        for key, weight in rows:
            exact[key] += weight
        check(summary, exact)


def test_few_keys_are_counted_exactly() -> None:
    summary = HeavyHitters(3)
    summary.add(ints([5, 7, 5, -1]))
    summary.add(ints([5, 7]))
    assert summary.top(2) == [HeavyHitter(5, 3, 3), HeavyHitter(7, 2, 2)]


def test_a_hot_key_is_found_among_a_million_others() -> None:
    rng = np.random.default_rng(1)
    summary = HeavyHitters(16)
    for _ in range(4):
        hashes = rng.integers(-(2**62), 2**62, 250_000)
        hashes[::10] = 42
        summary.add(hashes)
    first, *_ = summary.top(3)
    assert first.hash == 42
    assert first.least <= 100_000 <= first.most
    assert summary.missed < 5_000


def test_a_chunk_of_infrequent_keys_is_skipped() -> None:
    summary = HeavyHitters(16)
    summary.add(np.arange(100_000, dtype=np.int64))
    assert summary.top(3) == []
    assert summary.missed < 100


def test_a_key_keeps_its_first_name() -> None:
    summary = HeavyHitters(2)
    requested: list[int] = []
    words = ["a", "b", "a", "a", "b", "c"]

    def name(row: int) -> str:
        requested.append(row)
        return words[row]

    summary.add(ints([1, 2, 1, 1, 2, 3]), name=name)
    assert summary.top(2) == [HeavyHitter(1, 2, 3, "a"), HeavyHitter(2, 1, 2, "b")]
    summary.add(ints([1]), name=name)
    assert requested == [0, 1]
    other = HeavyHitters(2)
    other.add(ints([2, 9, 9, 9]), name=lambda row: "B" if row == 0 else "z")
    summary.merge(other)
    assert [(each.hash, each.name) for each in summary.top(2)] == [(1, "a"), (9, "z")]


def test_an_empty_summary_can_be_merged() -> None:
    summary = HeavyHitters()
    summary.add(ints([]))
    summary.merge(HeavyHitters())
    assert summary.top(5) == []
    assert HeavyHitters.of_data(summary.as_data()).as_data() == summary.as_data()
