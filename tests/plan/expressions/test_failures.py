"""Which part of an expression can fail, and when it is evaluated."""

from __future__ import annotations

import pytest

from millstream.plan.build.job import build_query
from millstream.plan.expressions import Expression
from millstream.plan.expressions.failures import FailurePart, can_fail, failure_of
from millstream.plan.nodes import Column, Source

COLUMNS = {"s": "STRING", "i": "INT", "j": "INT", "a": "ARRAY<INT>"}
SOURCE = Source("x", tuple(Column(name, kind) for name, kind in COLUMNS.items()))


def expression(sql: str) -> Expression:
    return build_query(f"SELECT\n  {sql} AS v FROM x", {"x": SOURCE}).root.outputs[0].expression


def tree(part: FailurePart) -> object:
    own = part.written if part.when is None else f"{part.written} when {part.when}"
    return (own, [tree(each) for each in part.inner]) if part.inner else own


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("i", False),
        ("(i IS NULL OR NOT (s IS NULL)) AND true", False),
        ("'text'", False),
        ("i = j", True),
        ("upper(s)", True),
    ],
)
def test_what_only_combines_columns_cannot_fail(sql, expected):
    assert can_fail(expression(sql)) is expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CAST(s AS INT)", "CAST(s AS INT)"),
        ("CAST(s AS INT) + i % j", ("CAST(s AS INT) + i % j", ["CAST(s AS INT)", "i % j"])),
        ("coalesce(i, 1 / j)", ("coalesce(i, 1 / j)", ["1 / j"])),
        (
            "if(j = 0, i, i DIV j)",
            ("if(j = 0, i, i DIV j)", ["j = 0", "i DIV j when NOT coalesce(x.j = 0, false)"]),
        ),
        (
            "CASE WHEN s > 5 THEN abs(i) WHEN j = 0 THEN 1 ELSE -j END",
            (
                "CASE WHEN s > 5 THEN abs(i) WHEN j = 0 THEN 1 ELSE -j END",
                [
                    "s > 5",
                    "abs(i) when coalesce(x.s > 5, false)",
                    "j = 0 when NOT coalesce(x.s > 5, false)",
                    "-j when NOT coalesce(x.s > 5, false) AND NOT coalesce(x.j = 0, false)",
                ],
            ),
        ),
        ("transform(a, y -> 1 / y)", "transform(a, y -> 1 / y)"),
    ],
)
def test_the_parts_of_an_expression_are_in_the_order_of_evaluation(sql, expected):
    assert tree(failure_of(expression(sql))) == expected


def test_a_part_has_its_place_its_cause_and_what_it_converts_or_divides_by():
    whole = failure_of(expression("CAST(s AS INT)\n  / (j - 1)"))
    assert str(whole.place) == "line 2, column 3"
    assert whole.divisor == "(x.j - 1)"
    cast, difference = whole.inner
    assert (str(cast.place), cast.cause) == (
        "line 2, column 3",
        "the value cannot be cast to INT",
    )
    assert cast.value == "x.s"
    assert (str(difference.place), difference.value) == ("line 3, column 5", None)


def test_the_parts_of_a_long_expression_are_not_tested_one_by_one():
    long = " + ".join(["CAST(s AS INT)"] * 40)
    assert failure_of(expression(long)).inner == ()
