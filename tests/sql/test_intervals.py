"""Interval literals as microseconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import parse_one

from millstream.errors import PropertyError
from millstream.sql.intervals import interval_micros
from millstream.temporal import format_span, parse_span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("INTERVAL '24' HOUR", "24h"),
        ("INTERVAL 24 HOURS", "24h"),
        ("INTERVAL '1 day 2 hours'", "26h"),
        ("INTERVAL 1 DAY 2 HOURS", "26h"),
        ("INTERVAL '5 minutes'", "5m"),
        ("INTERVAL '1:30' HOUR TO MINUTE", "90m"),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "1d 2h 3m 4s 500ms"),
        ("INTERVAL '-1:30' MINUTE TO SECOND", "-90s"),
        ("INTERVAL -5 MINUTES", "-5m"),
        ("INTERVAL '-5' MINUTES", "-5m"),
        ("-INTERVAL 5 MINUTES", "-5m"),
        ("INTERVAL '1.5' SECOND", "1500ms"),
        ("INTERVAL 2 WEEKS", "14d"),
        ("INTERVAL 250 MILLISECONDS", "250ms"),
        ("INTERVAL 7 MICROSECONDS", "7us"),
        ("INTERVAL 1 HOUR + INTERVAL 30 MINUTES - INTERVAL 1 MINUTE", "89m"),
        ("2 * (INTERVAL 1 HOUR)", "2h"),
        ("INTERVAL 1 HOUR * 3", "3h"),
        ("INTERVAL '-1 hour 30 minutes'", "-30m"),  # to Spark, each number has its own sign
    ],
)
def test_interval_of_fixed_length(text: str, span: str) -> None:
    assert interval_micros(parse_one(text, read="spark")) == parse_span(span)


@pytest.mark.parametrize(
    "text",
    [
        "INTERVAL 1 MONTH",
        "INTERVAL '2' YEARS",
        "INTERVAL '1-2' YEAR TO MONTH",
        "INTERVAL x HOURS",
        "INTERVAL '1 month 2 days'",
        "INTERVAL '0.0000001' SECOND",
        "INTERVAL '1:2:3' HOUR TO MINUTE",
        "5",
        "x",
    ],
)
def test_interval_of_no_fixed_length_is_none(text: str) -> None:
    assert interval_micros(parse_one(text, read="spark")) is None


@given(st.integers(-(10**15), 10**15))
def test_a_formatted_duration_is_parsed_to_the_same_value(micros: int) -> None:
    assert parse_span(format_span(micros)) == micros


@pytest.mark.parametrize(
    "text", ["\u0663d", "1h -30m", "-1h -30m", "--1h", "- ", "1h 30", "1 fortnight"]
)
def test_invalid_durations_are_rejected(text: str) -> None:
    with pytest.raises(PropertyError):
        parse_span(text)
