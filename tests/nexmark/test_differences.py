"""When two results are the same."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from bench.nexmark.differences import difference


def test_rows_are_bags():
    expected = pl.DataFrame({"a": [1, 2, 2]})
    assert not difference(expected, pl.DataFrame({"a": [2, 1, 2]}))
    assert difference(expected, pl.DataFrame({"a": [2, 1]})).rows.rows() == [(2, -1)]
    assert difference(expected, pl.DataFrame({"a": [2, 1, 2, 3]})).rows.rows() == [(3, 1)]


def test_changes_are_applied():
    ops = ["+I", "-U", "+U", "+I", "-D"]
    came = pl.DataFrame({"a": [1, 1, 2, 9, 9], "_OP": ops})
    assert not difference(pl.DataFrame({"a": [2]}), came)


def test_widths_of_numbers_and_zones_of_times_make_no_difference():
    time = datetime(2026, 1, 1, tzinfo=UTC)
    expected = pl.DataFrame({"n": [1], "t": [time.replace(tzinfo=None)]})
    came = pl.DataFrame({"n": [1], "t": [time]}).with_columns(pl.col("n").cast(pl.Int32))
    assert not difference(expected, came)


def test_null_is_like_null():
    frame = pl.DataFrame({"a": [None, 1]})
    assert not difference(frame, frame)


def test_a_difference_shows_its_rows():
    found = difference(pl.DataFrame({"a": list(range(9))}), pl.DataFrame({"a": [7]}))
    assert str(found).splitlines()[0] == "-1 × {'a': 0}"
    assert str(found).splitlines()[-1] == "and 2 rows more that differ"


def test_other_columns_are_an_error():
    with pytest.raises(ValueError, match=r"\['b'\] came, and not \['a'\]"):
        difference(pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]}))
