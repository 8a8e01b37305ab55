from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.core import key_index as index
from millstream.kernels.core.key_index import Enough, KeyIndex, time_order

Rows = list[tuple[int, int]]  # hash, time

ROWS = st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 30)), max_size=40)
BOUNDS = st.tuples(st.integers(-10, 10), st.integers(0, 12)).map(lambda b: (b[0], b[0] + b[1]))


def index_of(rows: Rows) -> KeyIndex:
    hashes, times = np.array(rows, np.int64).reshape(-1, 2).T
    return KeyIndex.of(np.ascontiguousarray(hashes), np.ascontiguousarray(times))


def pairs_of(
    here: Rows, there: Rows, bounds: tuple[int, int], skip: int = 0, enough: Enough = "all"
) -> list[tuple[int, int]]:
    found = index_of(here).pairs(index_of(there), *bounds, skip=skip, enough=enough)
    return [(int(a), int(b)) for mine, theirs in found for a, b in zip(mine, theirs, strict=True)]


def by_definition(
    here: Rows, there: Rows, bounds: tuple[int, int], skip: int = 0
) -> list[tuple[int, int]]:
    return [
        (a, b)
        for a, (hash_a, time_a) in enumerate(here)
        for b, (hash_b, time_b) in enumerate(there)
        if hash_a == hash_b and bounds[0] <= time_b - time_a <= bounds[1] and b >= skip
    ]


@given(ROWS, ROWS, BOUNDS, st.integers(0, 5))
def test_pairs_are_those_of_the_definition(
    here: Rows, there: Rows, bounds: tuple[int, int], skip: int
) -> None:
    here, there = sorted(here, key=lambda row: row[1]), sorted(there, key=lambda row: row[1])
    found = pairs_of(here, there, bounds, skip)
    assert sorted(found) == by_definition(here, there, bounds, skip)


def hot(rows: int, keys: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 2000, rows))
    return list(zip(rng.integers(0, keys, rows).tolist(), times.tolist(), strict=True))


@pytest.mark.parametrize("sizes", [(300, 500), (500, 300)])
@pytest.mark.parametrize("max_pairs", [100, 4_000_000])
@pytest.mark.parametrize("few_needles", [0, 4096])
@pytest.mark.parametrize("skip", [0, 40])
def test_hot_keys_are_searched_by_time_in_chunks(
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, int],
    max_pairs: int,
    few_needles: int,
    skip: int,
) -> None:
    monkeypatch.setattr(index, "MAX_PAIRS", max_pairs)
    monkeypatch.setattr(index, "FEW_NEEDLES", few_needles)
    here, there = hot(sizes[0], 3, 1), hot(sizes[1], 3, 2)
    found = pairs_of(here, there, (-20, 30), skip)
    assert sorted(found) == by_definition(here, there, (-20, 30), skip)


@pytest.mark.parametrize("sizes", [(300, 500), (500, 300)])
@pytest.mark.parametrize("skip", [0, 40])
def test_where_one_match_is_enough_a_hot_key_gives_no_more_pairs_than_rows(
    sizes: tuple[int, int], skip: int
) -> None:
    here, there = hot(sizes[0], 2, 1), hot(sizes[1], 2, 2)
    every = by_definition(here, there, (-300, 300), skip)
    mine = pairs_of(here, there, (-300, 300), skip, "one per own row")
    assert set(mine) <= set(every)
    assert sorted(a for a, _ in mine) == sorted({a for a, _ in every})
    theirs = pairs_of(here, there, (-300, 300), skip, "one per other row")
    assert set(theirs) <= set(every)
    assert sorted(b for _, b in theirs) == sorted({b for _, b in every})


def test_keys_that_differ_in_only_low_bits_are_still_sorted() -> None:
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)  # so that the spread keys are 0, 1, 2, …
    hashes = [(inverse * number) % 2**64 for number in (5, 3, 5, 1, 0, 3)]
    signed = np.array(hashes, np.uint64).view(np.int64)
    found = KeyIndex.of(signed, np.arange(6))
    assert found.keys.tolist() == [0, 1, 3, 3, 5, 5]
    assert found.order.tolist() == [4, 3, 1, 5, 0, 2]


def test_an_index_of_some_rows_numbers_them_anew() -> None:
    rows = [(1, 0), (2, 1), (1, 2), (2, 3)]
    keep = np.array([False, True, True, True])
    found = index_of(rows).filter(keep)
    whole = index_of(rows[1:])
    assert found.keys.tolist() == whole.keys.tolist()
    assert found.order.tolist() == whole.order.tolist()
    assert found.times.tolist() == [1, 2, 3]


@pytest.mark.parametrize("scale", [1, 2**57])
def test_rows_of_one_time_keep_their_order(scale: int) -> None:
    times = np.array([3, 1, 2, 1, 3]) * scale  # the large ones leave no room for row numbers
    order = time_order(times)
    assert order is not None
    assert order.tolist() == [1, 3, 2, 0, 4]
    assert time_order(np.sort(times)) is None
