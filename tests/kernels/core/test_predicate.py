from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies
from tests.kernels.interval_join.oracle import Row

from millstream.kernels.core.predicate import columns_of, evaluate
from millstream.values import Compare, Logic, Predicate

ROWS = st.builds(Row, st.integers(0, 3), st.just(0), st.just(()), strategies.numbers)


@given(strategies.predicates, st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=10))
def test_three_valued_logic_is_that_of_sql(
    predicate: Predicate, pairs: list[tuple[Row, Row]]
) -> None:
    frame = pl.DataFrame(
        {
            "l_x": [left.x for left, _ in pairs],
            "r_x": [right.x for _, right in pairs],
            "l_id": [left.id for left, _ in pairs],
            "r_id": [right.id for _, right in pairs],
        },
        schema={"l_x": pl.Float64, "r_x": pl.Float64, "l_id": pl.Int64, "r_id": pl.Int64},
    )
    found = evaluate(predicate, frame.get_column).to_list()
    assert found == [strategies.holds(predicate, left, right) for left, right in pairs]


@pytest.mark.parametrize(
    ("one", "op", "two", "expected"),
    [
        (math.nan, "=", math.nan, True),
        (math.nan, ">", math.inf, True),
        (math.nan, "<=", 1.0, False),
        (-0.0, "=", 0.0, True),
        (-0.0, "<", 0.0, False),
        ("Z", "<", "a", True),  # bytewise, in no language's order
        ("é", ">", "z", True),
        ("a", "<", "aa", True),
        (True, ">", False, True),
        (None, "<>", 1, None),
    ],
)
def test_values_compare_as_in_spark(
    one: object, op: str, two: object, expected: bool | None
) -> None:
    frame = pl.DataFrame({"a": [one], "b": [two]})
    predicate = Compare("a", op, "b")  # type: ignore[arg-type]
    assert evaluate(predicate, frame.get_column).to_list() == [expected]


def test_the_columns_of_a_predicate_are_all_it_names() -> None:
    inner = Logic("not", (Compare("b", "<", "c"),))
    assert list(columns_of(Logic("and", (Compare("a", "=", "b"), inner)))) == ["a", "b", "b", "c"]
    assert list(columns_of(None)) == []
