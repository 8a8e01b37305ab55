from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies
from tests.kernels.interval_join.oracle import Row

from millstream.errors import RunError
from millstream.kernels.core.predicate import columns_by_side, columns_of, evaluate
from millstream.scalars import (
    Arithmetic,
    ArithmeticOperator,
    Case,
    Cast,
    Compare,
    Constant,
    IsNull,
    Like,
    Logic,
    Operand,
    Predicate,
    ScalarType,
)

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
    found = evaluate(predicate, frame.get_column, frame.height).to_list()
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
    assert evaluate(predicate, frame.get_column, frame.height).to_list() == [expected]


def test_the_columns_of_a_predicate_are_all_it_names() -> None:
    inner = Logic("not", (Compare("b", "<", "c"),))
    assert list(columns_of(Logic("and", (Compare("a", "=", "b"), inner)))) == ["a", "b", "b", "c"]
    assert list(columns_of(None)) == []


INT, BIGINT, DOUBLE = ScalarType.INT, ScalarType.BIGINT, ScalarType.DOUBLE
BOOLEAN = ScalarType.BOOLEAN
PAIRS = pl.DataFrame(
    {"a": [6, 7, None], "b": [0, 2, 0], "big": [2**63 - 1, -(2**63), 1]},
    {"a": pl.Int32, "b": pl.Int32, "big": pl.Int64},
)
A, B, BIG = Operand("a", 0, INT), Operand("b", 1, INT), Operand("big", 0, BIGINT)
REMAINDER = Arithmetic(A, "%", B, INT)
ZERO = Constant(0, INT)
IS_ZERO: Compare[str] = Compare(B, "=", ZERO)
IS_NOT_ZERO: Compare[str] = Compare(B, "<>", ZERO)
DIVIDES: Compare[str] = Compare(REMAINDER, "=", ZERO)
DOES_NOT_DIVIDE: Compare[str] = Compare(REMAINDER, "<>", ZERO)


def test_a_division_by_zero_fails_only_where_both_operands_are_known() -> None:
    with pytest.raises(RunError, match="a division by zero"):
        evaluate(DIVIDES, PAIRS.get_column, 3)
    rows = PAIRS[1:]
    assert evaluate(DIVIDES, rows.get_column, 2).to_list() == [False, None]


def test_only_live_rows_fail() -> None:
    live = pl.Series([False, True, True])
    found = evaluate(DIVIDES, PAIRS.get_column, 3, live)
    assert found[1:].to_list() == [False, None]


@pytest.mark.parametrize(
    "predicate",
    [
        Case(((IS_ZERO, Constant(value=True, type=BOOLEAN)),), DIVIDES, BOOLEAN),
        Logic("or", (IS_ZERO, DIVIDES)),
        Logic("not", (Logic("and", (IS_NOT_ZERO, DOES_NOT_DIVIDE)),)),
    ],
)
def test_case_and_or_skip_a_part_that_would_fail(predicate: Predicate) -> None:
    found = evaluate(predicate, PAIRS.get_column, 3).to_list()
    assert found[:2] == [True, False]


@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_an_overflow_fails(op: ArithmeticOperator) -> None:
    other = Constant(-3 if op == "*" else 1, BIGINT)
    with pytest.raises(RunError, match="does not fit BIGINT"):
        evaluate(IsNull(Arithmetic(BIG, op, other, BIGINT)), PAIRS.get_column, 3)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.sampled_from("+-*%"))
def test_integers_are_exact(one: int, two: int, op: ArithmeticOperator) -> None:
    exact = {"+": one + two, "-": one - two, "*": one * two}
    if op == "%":
        exact["%"] = 0 if two == 0 else abs(one) % abs(two) * (-1 if one < 0 else 1)
    frame = pl.DataFrame({"a": [one], "b": [two]}, {"a": pl.Int64, "b": pl.Int64})
    node = Arithmetic(Operand("a", 0, BIGINT), op, Operand("b", 1, BIGINT), BIGINT)
    try:
        found = evaluate(node, frame.get_column, 1)[0]
    except RunError:
        assert (op == "%" and two == 0) or not -(2**63) <= exact[op] < 2**63
    else:
        assert found == exact[op]


def test_a_double_is_cast_to_an_integer_as_in_spark() -> None:
    values = [2147483647.9, -2147483648.9, -1.5, None]
    frame = pl.DataFrame({"x": values}, {"x": pl.Float64})
    node = Cast(Operand("x", 0, DOUBLE), DOUBLE, INT)
    expected = [2147483647, -2147483648, -1, None]
    assert evaluate(node, frame.get_column, 4).to_list() == expected
    for wrong in (math.nan, math.inf, 2147483648.0):
        frame = pl.DataFrame({"x": [wrong]})
        with pytest.raises(RunError, match="does not fit INT"):
            evaluate(node, frame.get_column, 1)


def test_like_reads_the_pattern_of_each_row() -> None:
    frame = pl.DataFrame(
        {"s": ["a.b", "axb", "a%", None, "a"], "p": ["a.b", "a.b", "a\\%", "%", None]}
    )
    string = ScalarType.STRING
    node = Like(Operand("s", 0, string), Operand("p", 1, string), "\\")
    assert evaluate(node, frame.get_column, 5).to_list() == [True, False, True, None, None]
    frame = pl.DataFrame({"s": ["a"], "p": ["a\\"]})
    with pytest.raises(RunError, match="MS-RUN-VALUE: the pattern"):
        evaluate(node, frame.get_column, 1)


def test_columns_are_of_the_side_that_they_are_read_from() -> None:
    compared = Compare("l_x", "<", "r_x")
    reads: Predicate = Compare(Operand("r_y", 1, BIGINT), ">", Operand("l_x", 0, BIGINT))
    predicate = Logic("or", (compared, IsNull(Operand("r_y", 1, BIGINT)), reads))
    assert columns_by_side(predicate) == (("l_x",), ("r_x", "r_y"))
    assert columns_by_side(None) == ((), ())
