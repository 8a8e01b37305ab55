"""The join of rows with the rows of a table that have the same key."""

from __future__ import annotations

from datetime import date

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.table_join import IndexedTable, evaluate_condition
from millstream.values import Condition


def joined(
    table: list[tuple[object, ...]], requested: list[tuple[object, ...]], *, first: bool = False
) -> list[tuple[int, int]]:
    """(row requested for, row of the table or -1), as the kernel pairs them."""
    width = len(requested[0])
    keys = tuple(f"k{i}" for i in range(width))
    columns = {name: [row[i] for row in table] for i, name in enumerate(keys)}
    rows = pa.table({**columns, "n": list(range(len(table)))})
    rows = rows.cast(
        pa.schema(
            [*((name, _type(requested, i)) for i, name in enumerate(keys)), ("n", pa.int64())]
        )
    )
    given_keys = [
        pl.Series(name, pa.array([row[i] for row in requested], _type(requested, i)))
        for i, name in enumerate(keys)
    ]
    answer = IndexedTable(rows, keys).find(given_keys, first=first)
    found = answer.columns(("n",))[0].to_pylist()
    assert answer.found.to_pylist() == [number is not None for number in found]
    return [
        (int(left), -1 if number is None else number)
        for left, number in zip(answer.left, found, strict=True)
    ]


def _type(rows: list[tuple[object, ...]], place: int) -> pa.DataType:
    values = [row[place] for row in rows if row[place] is not None]
    return pa.string() if values and isinstance(values[0], str) else pa.int64()


def oracle(
    table: list[tuple[object, ...]], requested: list[tuple[object, ...]], first: bool
) -> list[tuple[int, int]]:
    pairs = []
    for number, key in enumerate(requested):
        found = [
            place for place, row in enumerate(table) if None not in key and tuple(row) == tuple(key)
        ]
        pairs += [(number, place) for place in (found[:1] if first else found)] or [(number, -1)]
    return pairs


numbers = st.one_of(st.none(), st.integers(-3, 3))
texts = st.one_of(st.none(), st.sampled_from(["", "a", "b", "ab"]))


@given(st.lists(st.tuples(numbers)), st.lists(st.tuples(numbers), min_size=1), st.booleans())
def test_rows_find_the_rows_of_their_number(
    table: list[tuple[object, ...]], requested: list[tuple[object, ...]], first: bool
) -> None:
    assert joined(table, requested, first=first) == oracle(table, requested, first)


@given(
    st.lists(st.tuples(numbers, texts)),
    st.lists(st.tuples(numbers, texts), min_size=1),
    st.booleans(),
)
def test_rows_find_the_rows_of_a_key_of_two_columns(
    table: list[tuple[object, ...]], requested: list[tuple[object, ...]], first: bool
) -> None:
    requested.append((1, "a"))  # so that the types are known
    assert joined(table, requested, first=first) == oracle(table, requested, first)


def test_a_table_without_rows_matches_nothing() -> None:
    assert joined([], [(1,), (None,)]) == [(0, -1), (1, -1)]


def test_a_row_is_emitted_once_for_each_row_of_its_key() -> None:
    assert joined([(1,), (2,), (1,)], [(2,), (1,), (3,)]) == [(0, 1), (1, 0), (1, 2), (2, -1)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition("c", "=", (2,)), [False, True, False, None]),
        (Condition("c", "<>", (2,)), [True, False, True, None]),
        (Condition("c", "<", (2,)), [True, False, False, None]),
        (Condition("c", "<=", (2,)), [True, True, False, None]),
        (Condition("c", ">", (2,)), [False, False, True, None]),
        (Condition("c", ">=", (2,)), [False, True, True, None]),
        (Condition("c", "in", (1, 3)), [True, False, True, False]),
        (Condition("c", "null"), [False, False, False, True]),
        (Condition("c", "not null"), [True, True, True, False]),
    ],
)
def test_conditions_hold_as_in_sql(condition: Condition, expected: list[bool | None]) -> None:
    column = pa.chunked_array([pa.array([1, 2, 3, None], pa.int32())])
    assert evaluate_condition(condition, column).to_pylist() == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition("c", "=", ("2026-01-02",)), [False, True, False, None]),
        (Condition("c", "<", ("2026-01-02",)), [True, False, False, None]),
        (Condition("c", "null or <", ("2026-01-02",)), [True, False, False, True]),
        (Condition("c", "null or <=", ("2026-01-02",)), [True, True, False, True]),
        (Condition("c", "null or >", ("2026-01-02",)), [False, False, True, True]),
        (Condition("c", "null or >=", ("2026-01-02",)), [False, True, True, True]),
    ],
)
def test_conditions_compare_dates_and_accept_null(
    condition: Condition, expected: list[bool | None]
) -> None:
    days = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3), None]
    column = pa.chunked_array([pa.array(days, pa.date32())])
    assert evaluate_condition(condition, column).to_pylist() == expected
