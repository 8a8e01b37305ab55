"""Bag difference of rows, typed, and how it is shown."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import HarnessError
from millstream.testing.case import ExpectedOutput
from millstream.testing.diff import SHOWN, Table, cell, compare

TEN = datetime(2026, 1, 15, 10, tzinfo=UTC)


def same(expected: Any, actual: Any, **options: Any) -> bool:
    table = Table(("v",), ({"v": actual},))
    return not compare("out", ExpectedOutput(({"v": expected},), **options), table)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, None),
        (5, 5),
        (5, 5.0),
        (5, Decimal("5.00")),
        (150.0, Decimal("150.00")),
        (0.1, Decimal("0.1")),
        ("0.30", Decimal("0.3")),
        (12345678901234567890, 12345678901234567890),
        (float("nan"), float("nan")),
        (float("inf"), float("inf")),
        (-0.0, 0.0),
        ("2026-01-15T10:00:00Z", TEN),
        ("2026-01-15T10:00:00", TEN),
        ("2026-01-15 10:00:00.000000", TEN),
        ("2026-01-15T12:00:00+02:00", TEN),
        (TEN, TEN.replace(tzinfo=None)),
        (TEN, TEN.astimezone(timezone(timedelta(hours=9)))),
        (date(2026, 1, 15), datetime(2026, 1, 15, tzinfo=UTC)),
        ("2026-01-15", date(2026, 1, 15)),
        (date(2026, 1, 15), date(2026, 1, 15)),
        ("1h 30m", timedelta(minutes=90)),
        ("ab", b"ab"),
        ([1, None], (1.0, None)),
        ({"a": 1, "b": [TEN]}, {"b": [TEN], "a": 1}),
    ],
)
def test_the_same_value_in_another_type_is_the_same(expected, actual):
    assert same(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, 0),
        (None, ""),
        ("", None),
        ("5", 5),
        (5, "5"),
        (1, True),
        (True, 1),
        ("true", True),
        (0.1 + 0.2, 0.3),
        (12345678901234567890, 12345678901234567891),
        ("2026-01-15T10:00:00Z", "2026-01-15T10:00:00.000Z"),
        ("2026-01-15T10:00:00.000001Z", TEN),
        ("soon", TEN),
        ("a", "A"),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 1, "b": None}),
    ],
)
def test_another_value_is_not(expected, actual):
    assert not same(expected, actual)


@pytest.mark.parametrize(
    ("cell_text", "actual"),
    [
        ("5", 5),
        ("150.00", 150.0),
        ("TRUE", True),
        ("2026-01-15T10:00:00Z", TEN),
        ("5", "5"),
        (None, None),
    ],
)
def test_texts_of_csv_are_read_as_the_column_is(cell_text, actual):
    assert same(cell_text, actual, text=True)


def test_rows_are_compared_as_bags_in_any_order():
    rows = ({"a": 1}, {"a": 2}, {"a": 1})
    assert not compare("out", ExpectedOutput(rows), Table(("a",), rows[::-1]))
    diff = compare("out", ExpectedOutput(rows), Table(("a",), ({"a": 2}, {"a": 1}, {"a": 2})))
    assert (diff.missing, diff.unexpected, diff.equal) == (({"a": 1},), ({"a": 2},), 2)


def test_no_rows_are_no_rows():
    assert not compare("out", ExpectedOutput(()), Table(("a",), ()))


def test_a_difference_is_an_aligned_table_with_like_rows_together():
    expected = ExpectedOutput(
        (
            {"id": "A", "carrier": "UPS", "n": 1},
            {"id": "B", "carrier": None, "n": 22},
            {"id": "C", "carrier": "DHL", "n": 3},
        )
    )
    actual = Table(
        ("id", "carrier", "n"),
        (
            {"id": "B", "carrier": "FedEx", "n": 22},
            {"id": "A", "carrier": "UPS", "n": 1},
            {"id": "D", "carrier": "NULL", "n": 3},
        ),
    )
    assert str(compare("out", expected, actual)).splitlines() == [
        "out: 2 missing (-), 2 unexpected (+), 1 as expected",
        "    id  carrier  n",
        "  + B   FedEx    22",
        "  - B   NULL     22",
        "  - C   DHL      3",
        '  + D   "NULL"   3',
    ]


def test_no_difference_is_one_line():
    assert str(compare("out", ExpectedOutput(({"a": 1},)), Table(("a",), ({"a": 1},)))) == (
        "out: 0 missing (-), 0 unexpected (+), 1 as expected"
    )


def test_a_long_difference_is_cut():
    rows = tuple({"a": i} for i in range(SHOWN + 5))
    lines = str(compare("out", ExpectedOutput(()), Table(("a",), rows))).splitlines()
    assert len(lines) == SHOWN + 3
    assert lines[-1] == "  + … and 5 more"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "NULL"),
        ("UPS", "UPS"),
        ("", '""'),
        ("5", '"5"'),
        ("1e3", '"1e3"'),
        ("null", '"null"'),
        ("true", '"true"'),
        (" a", '" a"'),
        ("a\nb", '"a\\nb"'),
        ("Zürich", "Zürich"),
        (True, "true"),
        (1.5, "1.5"),
        (Decimal("1.50"), "1.50"),
        (TEN, "2026-01-15T10:00:00Z"),
        (TEN.replace(tzinfo=None), "2026-01-15T10:00:00Z"),
        (TEN.astimezone(timezone(timedelta(hours=2))), "2026-01-15T10:00:00Z"),
        ({"a": "5", "b": [None]}, '{a: "5", b: [NULL]}'),
    ],
)
def test_a_cell_can_be_told_from_its_neighbours(value, shown):
    assert cell(value) == shown


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"id": 1},
            "MS-TEST-COLUMNS: expected row 1 of out lacks carrier, n. "
            "Write all columns of expected rows; write NULL as null.",
        ),
        (
            {"id": 1, "carier": "UPS", "n": 1},
            "MS-TEST-COLUMNS: expected row 1 of out has a column 'carier', which out does not "
            "have. Did you mean 'carrier'?",
        ),
        (
            {"zzz": 1},
            "MS-TEST-COLUMNS: expected row 1 of out has a column 'zzz', which out does not have. "
            "out has id, carrier, n.",
        ),
    ],
)
def test_a_row_must_have_all_columns_and_no_other(row, message):
    with pytest.raises(HarnessError) as caught:
        compare("out", ExpectedOutput((row,)), Table(("id", "carrier", "n"), ()))
    assert str(caught.value) == message


def test_approx_lets_numbers_differ_up_to_and_with_the_tolerance():
    assert same(0.1 + 0.2, 0.3, approx=1e-9)
    assert same(1.0, 1.5, approx=0.5)
    assert same(Decimal("1.0"), 1.1, approx=0.1)
    assert not same(1.0, 1.51, approx=0.5)
    assert not same("a", "b", approx=0.5)
    assert not same(None, 0.0, approx=0.5)
    assert same(None, None, approx=0.5)
    assert same(float("nan"), float("nan"), approx=0.5)
    assert not same(float("inf"), 1.0, approx=0.5)


def test_approx_by_column_leaves_other_columns_exact():
    expected = ExpectedOutput(({"a": 1.0, "b": 1.0},), approx={"a": 0.1})
    assert not compare("out", expected, Table(("a", "b"), ({"a": 1.05, "b": 1.0},)))
    assert compare("out", expected, Table(("a", "b"), ({"a": 1.0, "b": 1.05},)))


def test_approx_finds_the_pairing_that_leaves_no_row_over():
    expected = ExpectedOutput(({"a": 1.0}, {"a": 0.9}), approx=0.1)
    assert not compare("out", expected, Table(("a",), ({"a": 1.0}, {"a": 1.1})))


ROWS = st.lists(
    st.fixed_dictionaries({"a": st.sampled_from([None, 1, 2, "x"]), "b": st.booleans()})
)


@given(ROWS, ROWS)
def test_the_difference_is_that_of_bags(expected, actual):
    def bag(rows):
        return Counter((row["a"], row["b"]) for row in rows)

    diff = compare("out", ExpectedOutput(tuple(expected)), Table(("a", "b"), tuple(actual)))
    assert bag(diff.missing) == bag(expected) - bag(actual)
    assert bag(diff.unexpected) == bag(actual) - bag(expected)
    assert diff.equal == (bag(expected) & bag(actual)).total()


@given(st.lists(st.integers(0, 9), max_size=6), st.lists(st.integers(0, 9), max_size=6))
def test_approx_pairs_as_many_rows_as_can_be(expected, actual):
    diff = compare(
        "out",
        ExpectedOutput(tuple({"a": value} for value in expected), approx=1),
        Table(("a",), tuple({"a": value} for value in actual)),
    )
    # On a line, taking the smallest with its smallest fitting partner is best.
    left, pairs = sorted(actual), 0
    for want in sorted(expected):
        partner = next((value for value in left if abs(value - want) <= 1), None)
        if partner is not None:
            left.remove(partner)
            pairs += 1
    assert diff.equal == pairs
