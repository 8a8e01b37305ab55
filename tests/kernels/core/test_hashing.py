"""Hashes that are stored with state."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.core.hashing import hashes, is_hashable, normalize_zero

TEXTS = st.lists(st.text(max_size=6), min_size=1, max_size=12)


@given(TEXTS, TEXTS)
def test_equal_texts_have_equal_hashes_wherever_they_lie(one: list[str], two: list[str]) -> None:
    both = hashes(pl.Series([*one, *two]))
    apart = [*hashes(pl.Series(one)), *hashes(pl.Series(two))]
    assert list(both) == apart
    by_text: dict[str, set[int]] = {}
    for text, found in zip([*one, *two], both, strict=True):
        by_text.setdefault(text, set()).add(int(found))
    assert all(len(found) == 1 for found in by_text.values())
    assert len({next(iter(found)) for found in by_text.values()}) == len(by_text)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=1))
def test_different_numbers_have_different_hashes(numbers: list[int]) -> None:
    assert len(set(hashes(pl.Series(numbers, dtype=pl.Int64)))) == len(numbers)


@pytest.mark.parametrize(
    ("values", "number"),
    [
        (pl.Series([0.0, -0.0, 1.5]), 2),
        (pl.Series([float("nan"), -float("nan")]), 1),
        (pl.Series([0.0, -0.0], dtype=pl.Float32), 1),
        (pl.Series([True, False, True]), 2),
        (pl.Series([date(2024, 1, 1), date(2024, 1, 2)]), 2),
        (pl.Series([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 1, tzinfo=UTC)]), 2),
        (pl.Series([Decimal("1.10"), Decimal("1.1"), Decimal("1.2")]), 2),
        (pl.Series([b"", b"\0", b"\0\0"]), 3),
        (pl.Series(["", "a", "aa", "ab", "ba"]), 5),
        (pl.Series([{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, {"a": None, "b": "x"}]), 2),
        (pl.Series([{"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 0, "b": 1}]), 3),
        (pl.Series([{"a": 0.0}, {"a": -0.0}]), 1),
    ],
)
def test_what_is_equal_in_spark_has_one_hash(values: pl.Series, number: int) -> None:
    assert len(set(hashes(values))) == number


def test_hashes_are_the_same_in_every_version() -> None:
    """State of an earlier release is found by these hashes."""
    assert int(hashes(pl.Series([0]))[0]) == 16294208416658607535
    assert int(hashes(pl.Series(["ab"]))[0]) == 17154135737692234531


def test_lists_have_none() -> None:
    kinds: list[Any] = [pl.List(pl.Int64), pl.Struct({"a": pl.List(pl.Int64)})]
    assert not any(map(is_hashable, kinds))


def test_minus_zero_is_zero() -> None:
    made = pl.select(normalize_zero(pl.lit(pl.Series([-0.0, 0.0, 2.0, None])))).to_series()
    assert [str(value) for value in made] == ["0.0", "0.0", "2.0", "None"]
