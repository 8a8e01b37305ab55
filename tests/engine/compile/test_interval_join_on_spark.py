"""The interval join on Spark equals its definition, for random inputs and on both engines."""

from __future__ import annotations

import random

import pytest
from tests.engine.joins import JoinOnSpark, bag
from tests.kernels.interval_join.oracle import Join, Row, final_rows

from millstream.values import JoinType

SQL = {
    JoinType.INNER: "JOIN",
    JoinType.LEFT: "LEFT JOIN",
    JoinType.RIGHT: "RIGHT JOIN",
    JoinType.FULL: "FULL JOIN",
    JoinType.SEMI: "LEFT SEMI JOIN",
    JoinType.ANTI: "LEFT ANTI JOIN",
}
DELAY = 8


def random_side(rng: random.Random, count: int) -> list[Row]:
    """Rows at most DELAY behind the latest before them, NULL keys and equal times among them."""
    rows = [
        Row(
            number,
            rng.randrange(0, 60),
            (rng.choice(["a", "b", "é", None]), rng.choice([1, 2, 3, None])),
            rng.choice([None, float("nan"), 0.0, -0.0, 1.5]),
        )
        for number in range(count)
    ]
    return sorted(rows, key=lambda row: row.t + rng.randint(0, DELAY))


def cut(rng: random.Random, rows: list[Row], count: int) -> list[list[Row]]:
    ends = sorted(rng.randint(0, len(rows)) for _ in range(count - 1))
    return [rows[a:b] for a, b in zip([0, *ends], [*ends, len(rows)], strict=True)]


def query(how: JoinType, lower: int, upper: int, predicate: str = "") -> str:
    columns = "l.id AS l_id" if how.left_only else "l.id AS l_id, r.id AS r_id"
    return (
        f"SELECT {columns} FROM l {SQL[how]} r ON l.k1 = r.k1 AND l.k2 = r.k2 "
        f"AND r.t BETWEEN l.t + INTERVAL '{lower}' SECOND AND l.t + INTERVAL '{upper}' SECOND"
        + predicate
    )


@pytest.mark.parametrize("engine", ["columnar", "native"])
@pytest.mark.parametrize("how", list(JoinType))
def test_a_join_on_spark_is_its_definition(spark, how: JoinType, engine: str) -> None:
    if engine == "native" and how is JoinType.ANTI:
        return  # Spark has no such stream-stream join; its rejection is tested with the plan
    rng = random.Random(f"{how} {engine}")
    lower = rng.randint(-12, 6)
    upper = lower + rng.randint(0, 12)
    lefts, rights = random_side(rng, 40), random_side(rng, 40)
    batches = list(zip(cut(rng, lefts, 4), cut(rng, rights, 4), strict=True))
    join = JoinOnSpark(spark, query(how, lower, upper), (DELAY, DELAY), engine)
    rows, ledger = join.run(batches)
    assert bag(rows) == final_rows(Join(how, lower, upper), lefts, rights)
    if engine == "columnar":
        assert ledger is not None
        assert ledger.errors == []
        assert [each["in"] for each in ledger.inputs] == [40, 40]


@pytest.mark.parametrize("how", [JoinType.INNER, JoinType.FULL])
def test_a_predicate_across_the_sides_is_decided_as_spark_would(spark, how: JoinType) -> None:
    """NaN is equal to itself and greater than all; minus zero is zero; NULL is unknown."""
    rng = random.Random(7)
    lefts, rights = random_side(rng, 60), random_side(rng, 60)
    text = query(how, -10, 10, " AND (l.x <= r.x OR l.id > r.id)")

    def across(left: Row, right: Row) -> bool:
        smaller = None
        if left.x is not None and right.x is not None:
            smaller = right.x != right.x or left.x <= right.x
        return bool(smaller) or left.id > right.id

    rows, _ = JoinOnSpark(spark, text, (DELAY, DELAY)).run([(lefts, rights)])
    assert bag(rows) == final_rows(Join(how, -10, 10, across), lefts, rights)


def test_what_only_spark_can_decide_filters_an_inner_join(spark) -> None:
    rng = random.Random(11)
    lefts, rights = random_side(rng, 40), random_side(rng, 40)
    text = query(JoinType.INNER, 0, 10, " AND concat(l.k1, r.k1) = 'aa'")
    rows, _ = JoinOnSpark(spark, text, (DELAY, DELAY)).run([(lefts, rights)])
    join = Join(JoinType.INNER, 0, 10, lambda left, _: left.key[0] == "a")
    assert bag(rows) == final_rows(join, lefts, rights)


def test_a_silent_input_holds_unmatched_rows_until_the_end(spark) -> None:
    lefts = [Row(i, i * 10, ("a", 1)) for i in range(3)]
    text = query(JoinType.LEFT, 0, 1)
    rows, ledger = JoinOnSpark(spark, text).run([(lefts[:1], []), (lefts[1:], [])])
    assert sorted(rows) == [(0, None), (1, None), (2, None)]
    assert ledger is not None
    assert ledger.unmatched == 3


@pytest.mark.parametrize(
    ("columns", "expected"),
    [("r.id AS r_id", [(None,), (10,), (11,)]), ("'x' AS tag", [("x",)] * 3)],
)
def test_a_side_of_which_no_column_is_read_still_joins(spark, columns: str, expected) -> None:
    lefts = [Row(1, 0, ("a", 1)), Row(2, 0, ("a", 2))]
    rights = [Row(10, 1, ("a", 1)), Row(11, 2, ("a", 1))]
    text = (
        f"SELECT {columns} FROM l LEFT JOIN r ON l.k2 = r.k2 "
        "AND r.t BETWEEN l.t AND l.t + INTERVAL '5' SECOND"
    )
    rows, _ = JoinOnSpark(spark, text).run([(lefts, rights)])
    assert sorted(rows, key=str) == sorted(expected, key=str)


def test_a_condition_guards_the_expressions_that_rely_on_it(spark) -> None:
    """With ANSI casts, a key that is no number would stop the job, had it not been filtered out."""
    lefts = [Row(1, 0, ("7", 1)), Row(2, 0, ("seven", 1))]
    rights = [Row(3, 1, ("x", 7))]
    text = (
        "SELECT v.id AS l_id, r.id AS r_id FROM (SELECT * FROM l WHERE k1 RLIKE '^[0-9]+$') v "
        "JOIN r ON CAST(v.k1 AS BIGINT) = r.k2 AND r.t BETWEEN v.t AND v.t + INTERVAL 5 SECONDS"
    )
    rows, ledger = JoinOnSpark(spark, text).run([(lefts, rights)])
    assert rows == [(1, 3)]
    assert ledger is not None
    assert ledger.inputs[0]["filtered"] == 1


def test_a_random_condition_is_made_once_for_a_row(spark) -> None:
    lefts = [Row(number, 0, ("a", number)) for number in range(200)]
    text = "SELECT id, upper(k1) AS name FROM (SELECT * FROM l WHERE rand() < 0.5) v"
    rows, _ = JoinOnSpark(spark, text, engine="auto").run([(lefts, [])])
    assert 0 < len(rows) < 200
    assert {name for _, name in rows} == {"A"}
