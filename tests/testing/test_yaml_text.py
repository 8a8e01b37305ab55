"""YAML with places, and plain words that stay words."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from millstream.errors import HarnessError
from millstream.testing.load import read_documents


def value(text: str) -> object:
    [document] = read_documents(f"v: {text}", "f.yaml")
    assert isinstance(document.value, dict)
    return document.value["v"]


@pytest.mark.parametrize(
    "word", ["NO", "yes", "on", "Off", "y", "True", "10:30", "007", "0x1F", "1_000"]
)
def test_what_yaml_1_1_would_turn_into_something_else_stays_text(word):
    assert value(word) == word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("42", 42),
        ("-7", -7),
        ("0", 0),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("-2.5E-1", -0.25),
        (".inf", float("inf")),
        ("'42'", "42"),
        ("2026-01-15", date(2026, 1, 15)),
        ("2026-01-15T10:00:00Z", datetime(2026, 1, 15, 10, tzinfo=UTC)),
        ("[1, a]", [1, "a"]),
    ],
)
def test_plain_values_are_read(text, expected):
    got = value(text)
    assert got == expected
    assert type(got) is type(expected)


def test_a_part_has_its_place():
    [document] = read_documents(
        "name: a\ninputs:\n  orders:\n    rows: [{a: 1}, {b: 2}]\n", "f.yaml"
    )
    assert str(document.place()) == "f.yaml, line 1, column 1"
    assert str(document.place(("inputs", "orders"))) == "f.yaml, line 3, column 3"
    assert str(document.place(("inputs", "orders", "rows", 1, "b"))) == "f.yaml, line 4, column 21"


def test_the_place_of_something_missing_is_that_of_what_should_hold_it():
    [document] = read_documents("name: a\ninputs:\n  orders: {}\n", "f.yaml")
    assert document.place(("inputs", "orders", "rows")).line == 3
    assert document.place(("expect", "out")).line == 1
    assert document.known(("inputs", "orders", "rows")) == "inputs.orders"


def test_documents_come_in_order_and_empty_ones_are_nothing():
    documents = read_documents("a: 1\n---\nb: 2\n", "f.yaml")
    assert [document.value for document in documents] == [{"a": 1}, {"b": 2}]
    assert documents[1].place(("b",)).line == 3
    assert read_documents("# only a comment\n", "f.yaml") == []


def test_text_that_is_not_yaml_is_an_error_with_its_place():
    with pytest.raises(HarnessError) as caught:
        read_documents("name: a\n  sql: [b\n", "f.yaml")
    assert caught.value.code == "MS-TEST-YAML"
    assert str(caught.value).startswith(
        "MS-TEST-YAML at f.yaml, line 2, column 6: the file is not YAML"
    )


def test_a_control_character_is_an_error():
    with pytest.raises(HarnessError, match="MS-TEST-YAML"):
        read_documents("name: \x07", "f.yaml")


def test_a_key_given_twice_is_an_error():
    with pytest.raises(HarnessError) as caught:
        read_documents("expect:\n  - out: 1\n    out: 2\n", "f.yaml")
    assert str(caught.value) == (
        "MS-TEST-DOUBLE at f.yaml, line 3, column 5: the key 'out' is repeated. Remove one."
    )


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("2026-02-30", "2026-02-30 is not a valid time: day is out of range for month."),
        ("[{{id}: A}]", "a key must be a string, not a list or mapping."),
    ],
)
def test_what_looks_like_a_value_and_is_none_has_a_place(text, cause):
    with pytest.raises(HarnessError) as caught:
        value(text)
    assert caught.value.cause == cause
    assert caught.value.place is not None
    assert caught.value.place.line == 1
