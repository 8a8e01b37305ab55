"""What a value of SQLite is as a type of Spark, and which values it cannot be."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from millstream.connectors.lookup.values import ValueMismatchError, to_array
from millstream.connectors.sqlite.columns import reader

DAY = dt.date(2026, 1, 15)
TIME = dt.datetime(2026, 1, 15, 10, 30, 0, 250_000, dt.UTC)
UTC = pa.timestamp("us", "UTC")


def read(values, declared):
    return (reader(declared) or to_array)(values, declared)


@pytest.mark.parametrize(
    ("declared", "values", "expected"),
    [
        (pa.int8(), [-128, 127, None], [-128, 127, None]),
        (pa.int64(), [2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        (pa.bool_(), [0, 1, None], [False, True, None]),
        (pa.float64(), [0.1, 3, None], [0.1, 3.0, None]),
        (pa.float32(), [0.5, None], [0.5, None]),
        (pa.string(), ["", "é", None], ["", "é", None]),
        (pa.binary(), [b"\0\xff", None], [b"\0\xff", None]),
        (
            pa.decimal128(10, 2),
            [3, 12.34, "0.50", None],
            [Decimal("3.00"), Decimal("12.34"), Decimal("0.50"), None],
        ),
        (pa.date32(), ["2026-01-15", None], [DAY, None]),
        (
            UTC,
            ["2026-01-15 10:30:00.25", "2026-01-15T11:30:00.250+01:00", None, "2026-01-15"],
            [TIME, TIME, None, dt.datetime(2026, 1, 15, tzinfo=dt.UTC)],
        ),
        (pa.timestamp("us"), ["2026-01-15T10:30:00.250", None], [TIME.replace(tzinfo=None), None]),
        (pa.int32(), [None, None], [None, None]),
        (UTC, [], []),
    ],
)
def test_a_value_that_fits_is_read(declared, values, expected):
    array = read(values, declared)
    assert array.type == declared
    assert array.to_pylist() == expected


@pytest.mark.parametrize(
    ("declared", "value", "kind", "better"),
    [
        (pa.int32(), 2**31, "an integer out of the range of INT", "BIGINT"),
        (pa.int32(), "5", "a string", "STRING"),
        (pa.int32(), 5.0, "a floating-point number", "DOUBLE"),
        (pa.int32(), b"5", "bytes", "BINARY"),
        (pa.bool_(), 2, "an integer other than 0 and 1", "BIGINT"),
        (pa.bool_(), "true", "a string", "STRING"),
        (pa.float64(), 2**53 + 1, "an integer out of the range of DOUBLE", "BIGINT"),
        (pa.float64(), "0.1", "a string", "STRING"),
        (pa.float32(), 0.1, "a number that FLOAT cannot represent exactly", "DOUBLE"),
        (pa.string(), 5, "an integer", "BIGINT"),
        (pa.binary(), "x", "a string", "STRING"),
        (
            pa.decimal128(4, 2),
            1.234,
            "a number out of the range of DECIMAL(4, 2)",
            "a wider DECIMAL",
        ),
        (pa.decimal128(4, 2), "x", "a string that is not a number", "STRING"),
        (pa.decimal128(4, 2), float("inf"), "a number out of the range of DECIMAL(4, 2)", None),
        (pa.date32(), "2026-02-30", "a string that is not an ISO 8601 date", "STRING"),
        (pa.date32(), 20_000, "an integer", "BIGINT"),
        (UTC, "yesterday", "a string that is not an ISO 8601 time", "STRING"),
        (pa.timestamp("us"), "2026-01-15 10:30:00Z", "a time with a time zone", "TIMESTAMP"),
    ],
)
def test_a_value_that_does_not_fit_is_named(declared, value, kind, better):
    with pytest.raises(ValueMismatchError) as misfit:
        read([None, value], declared)
    assert misfit.value.kind == kind
    assert better is None or misfit.value.better == better
