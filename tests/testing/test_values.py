"""Input values as Spark's types want them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from millstream.errors import HarnessError
from millstream.testing.case import Row
from millstream.testing.values import convert_value, fill_rows

TEN = datetime(2026, 1, 15, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (None, "int", None),
        ("a", "STRING", "a"),
        (5, "bigint", 5),
        (5, "double", 5.0),
        (0.1, "decimal(10, 2)", Decimal("0.1")),
        ("12.10", "DECIMAL(10,2)", Decimal("12.10")),
        (True, "boolean", True),
        ("2026-01-15T10:00:00Z", "timestamp", TEN),
        ("2026-01-15T10:00:00", "timestamp", TEN),
        ("2026-01-15 12:00:00+02:00", "timestamp", TEN),
        (datetime(2026, 1, 15, 10), "timestamp", TEN),  # noqa: DTZ001
        (date(2026, 1, 15), "timestamp", datetime(2026, 1, 15, tzinfo=UTC)),
        ("2026-01-15T10:00:00Z", "timestamp_ntz", datetime(2026, 1, 15, 10)),  # noqa: DTZ001
        ("2026-01-15", "date", date(2026, 1, 15)),
        ("ab", "binary", b"ab"),
        ([1, 2], "array<int>", [1, 2]),
    ],
)
def test_a_value_becomes_its_type(value, type_, expected):
    got = convert_value(value, type_)
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [("5", "int", 5), ("5.5", "double", 5.5), ("TRUE", "boolean", True), ("007", "string", "007")],
)
def test_texts_of_csv_become_their_type(value, type_, expected):
    assert convert_value(value, type_, text=True) == expected


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (5, "string"),
        ("5", "int"),
        (True, "int"),
        (5.5, "int"),
        ("5.5", "double"),
        (True, "double"),
        ("x", "decimal(3,1)"),
        ("soon", "timestamp"),
        (5, "timestamp"),
        (TEN, "date"),
        ("maybe", "boolean"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(value, type_):
    with pytest.raises(ValueError, match=r"."):
        convert_value(value, type_)


def test_rows_are_filled_in_the_order_of_the_columns():
    rows: list[Row] = [{"b": 1}, {"b": None, "a": "x"}]
    assert fill_rows(rows, {"a": "string", "b": "int"}, "orders") == [(None, 1), ("x", None)]


def test_a_column_that_the_source_lacks_is_an_error_with_the_nearest_name():
    with pytest.raises(HarnessError) as caught:
        fill_rows([{}, {"order_di": "A"}], {"order_id": "string"}, "orders")
    assert str(caught.value) == (
        "MS-TEST-COLUMNS: row 2 of input orders has a column 'order_di', which orders does "
        "not have. Did you mean 'order_id'?"
    )


def test_a_bad_value_names_its_row():
    with pytest.raises(HarnessError) as caught:
        fill_rows([{"order_id": 7}], {"order_id": "string"}, "orders")
    assert str(caught.value) == (
        "MS-TEST-VALUE: row 1 of input orders: 7 is not a string; put it in quotes."
    )
