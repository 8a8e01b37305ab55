"""Update operations on Spark: rows of joins and assignments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.snapshots import dataset, joined, snapshot

from millstream.catalog.execution.result_frame import result_frame
from millstream.catalog.execution.validation import InvalidProjectError
from millstream.catalog.model import (
    Assignment,
    Cardinality,
    DatasetSnapshot,
    ResolverSnapshot,
    RuntimeJoin,
    TemporalMode,
    UpdateOperation,
)
from millstream.errors import ProjectRunError
from millstream.values import JoinType

ON = "transactions.currency = fx.currency"


@pytest.fixture
def transactions(spark: SparkSession, tmp_path: Path) -> DatasetSnapshot:
    rows = [(1, "EUR", 100.0), (2, "GBP", 50.0), (3, "JPY", 1000.0), (4, None, 1.0)]
    schema = "id INT, currency STRING, amount DOUBLE"
    return dataset(spark, tmp_path, "transactions", schema, rows)


@pytest.fixture
def fx(spark: SparkSession, tmp_path: Path) -> DatasetSnapshot:
    rows = [("EUR", 2.0), ("GBP", 3.0), ("USD", 1.0)]
    return dataset(spark, tmp_path, "fx", "currency STRING, rate DOUBLE", rows)


def rows_of(spark: SparkSession, given: ResolverSnapshot) -> list[tuple[Any, ...]]:
    found = [tuple(row) for row in result_frame(spark, "p", given).collect()]
    return sorted(found, key=str)


@pytest.mark.parametrize(
    ("join_type", "expected"),
    [
        (JoinType.LEFT, [(1, 200.0), (2, 150.0), (3, None), (4, None)]),
        (JoinType.INNER, [(1, 200.0), (2, 150.0)]),
        (JoinType.RIGHT, [(1, 200.0), (2, 150.0), (None, None)]),
        (JoinType.FULL, [(1, 200.0), (2, 150.0), (3, None), (4, None), (None, None)]),
    ],
)
def test_each_join_type(
    spark: SparkSession,
    transactions: DatasetSnapshot,
    fx: DatasetSnapshot,
    join_type: JoinType,
    expected: list[tuple[Any, ...]],
) -> None:
    operation = UpdateOperation(
        (RuntimeJoin("fx", "fx", ON, join_type=join_type),),
        (Assignment("usd", "amount * fx.rate"),),
    )
    frame = result_frame(spark, "p", snapshot(transactions, [joined(fx, "fx")], operation))
    assert frame.columns == ["id", "currency", "amount", "usd"]  # no joined column remains
    found = [(row.id, row.usd) for row in frame.collect()]
    assert sorted(found, key=str) == expected


def test_assignments_see_the_values_before_the_operation(
    spark: SparkSession, transactions: DatasetSnapshot
) -> None:
    swap = UpdateOperation((), (Assignment("amount", "id * 1.0D"), Assignment("id", "amount")))
    found = rows_of(spark, snapshot(transactions, [], swap))
    assert found[0] == (1.0, None, 4.0)


def test_operations_are_applied_in_order_and_an_alias_can_be_reused(
    spark: SparkSession, transactions: DatasetSnapshot, fx: DatasetSnapshot, tmp_path: Path
) -> None:
    names = dataset(
        spark, tmp_path, "names", "code STRING, rate STRING", [("EUR", "Euro"), ("JPY", "Yen")]
    )
    first = UpdateOperation(
        (RuntimeJoin("fx", "fx", ON),), (Assignment("usd", "amount * fx.rate"),)
    )
    second = UpdateOperation(
        (RuntimeJoin("fx", "names", "currency = fx.code"),),
        (Assignment("label", "concat(fx.rate, ' ', coalesce(usd, 0))"),),
    )
    joins = [joined(fx, "fx", 0), joined(names, "fx", 1)]
    found = rows_of(spark, snapshot(transactions, joins, first, second))
    assert [row[4] for row in found] == ["Euro 200.0", None, "Yen 0.0", None]


def test_joins_are_applied_in_the_order_of_the_list(
    spark: SparkSession, transactions: DatasetSnapshot, fx: DatasetSnapshot, tmp_path: Path
) -> None:
    """An inner join before a full join removes rows that it would keep after it."""
    codes = dataset(spark, tmp_path, "codes", "code STRING", [("EUR",), ("USD",)])
    inner = RuntimeJoin("fx", "fx", ON, join_type=JoinType.INNER)
    full = RuntimeJoin("c", "codes", "currency = c.code", join_type=JoinType.FULL)
    keep = (Assignment("code", "c.code"),)
    found = rows_of(
        spark,
        snapshot(
            transactions,
            [joined(fx, "fx"), joined(codes, "c")],
            UpdateOperation((inner, full), keep),
        ),
    )
    assert [(row[0], row[3]) for row in found] == [(1, "EUR"), (2, None), (None, "USD")]
    found = rows_of(
        spark,
        snapshot(
            transactions,
            [joined(codes, "c"), joined(fx, "fx")],
            UpdateOperation((full, inner), keep),
        ),
    )
    assert [(row[0], row[3]) for row in found] == [(1, "EUR"), (2, None)]


def test_a_join_between_external_datasets(
    spark: SparkSession, transactions: DatasetSnapshot, tmp_path: Path
) -> None:
    customers = dataset(spark, tmp_path, "customers", "id INT, region STRING", [(1, "N"), (2, "S")])
    regions = dataset(spark, tmp_path, "regions", "code STRING, name STRING", [("N", "North")])
    operation = UpdateOperation(
        (
            RuntimeJoin("c", "customers", "transactions.id = c.id"),
            RuntimeJoin("r", "regions", "c.region = r.code"),
        ),
        (Assignment("region", "r.name"),),
    )
    joins = [joined(customers, "c"), joined(regions, "r")]
    found = rows_of(spark, snapshot(transactions, joins, operation))
    assert [(row[0], row[3]) for row in found] == [(1, "North"), (2, None), (3, None), (4, None)]


def test_a_self_join_reads_the_input_under_another_alias(
    spark: SparkSession, transactions: DatasetSnapshot
) -> None:
    operation = UpdateOperation(
        (RuntimeJoin("before", "transactions", "transactions.id = before.id + 1"),),
        (Assignment("change", "amount - before.amount"),),
    )
    found = rows_of(spark, snapshot(transactions, [joined(transactions, "before")], operation))
    assert [row[3] for row in found] == [None, -50.0, 950.0, -999.0]


def test_a_stored_column_that_exists_is_an_error_of_the_run_too(
    spark: SparkSession, fx: DatasetSnapshot, tmp_path: Path
) -> None:
    given = dataset(spark, tmp_path, "t", "currency STRING, rate_fx DOUBLE", [("EUR", 1.0)])
    operation = UpdateOperation((RuntimeJoin("fx", "fx", "t.currency = fx.currency"),))
    with pytest.raises(InvalidProjectError, match="MS-PROJECT-COLUMN-EXISTS"):
        result_frame(spark, "p", snapshot(given, [joined(fx, "fx")], operation))


def with_cardinality(
    spark: SparkSession,
    given: DatasetSnapshot,
    fx: DatasetSnapshot,
    expected: Cardinality,
    on: str = ON,
) -> list[tuple[Any, ...]]:
    join = RuntimeJoin("fx", "fx", on, expected_cardinality=expected)
    operation = UpdateOperation((join,), (Assignment("usd", "amount * fx.rate"),))
    return rows_of(spark, snapshot(given, [joined(fx, "fx")], operation))


def test_a_join_that_multiplies_rows_against_its_cardinality_shows_the_keys(
    spark: SparkSession, transactions: DatasetSnapshot, tmp_path: Path
) -> None:
    rows = [("EUR", 2.0), ("EUR", 2.1), ("EUR", 2.2), ("GBP", 3.0), ("GBP", 3.1), ("CHF", 1.0)]
    fx = dataset(spark, tmp_path, "fx", "currency STRING, rate DOUBLE", rows)
    with pytest.raises(ProjectRunError) as caught:
        with_cardinality(spark, transactions, fx, Cardinality.MANY_TO_ONE)
    assert caught.value.code == "MS-PROJECT-CARDINALITY"
    assert caught.value.cause == (
        "the join 'fx' is expected to be many_to_one, but some rows match several rows of 'fx': "
        "currency = EUR (3 rows); currency = GBP (2 rows)."
    )
    many = with_cardinality(spark, transactions, fx, Cardinality.ONE_TO_MANY)
    assert len(many) == 3 + 2 + 1 + 1


def test_rows_are_not_counted_if_the_condition_compares_the_checked_key(
    spark: SparkSession, transactions: DatasetSnapshot, tmp_path: Path
) -> None:
    """The key says that rows are unique. They are not, so whether they are counted is visible."""
    rows = [("EUR", 2.0), ("EUR", 2.1)]
    fx = dataset(spark, tmp_path, "fx", "currency STRING, rate DOUBLE", rows)
    checked = replace(fx, key=("currency",))
    assert len(with_cardinality(spark, transactions, checked, Cardinality.MANY_TO_ONE)) == 5
    for key in ((), ("currency", "rate"), ("other",)):
        with pytest.raises(ProjectRunError, match=r"currency = EUR \(2 rows\)"):
            with_cardinality(spark, transactions, replace(fx, key=key), Cardinality.MANY_TO_ONE)


def test_repeated_keys_that_match_no_row_are_no_error(
    spark: SparkSession, transactions: DatasetSnapshot, tmp_path: Path
) -> None:
    rows = [("EUR", 2.0), ("CHF", 1.0), ("CHF", 1.1), (None, 1.0), (None, 2.0)]
    fx = dataset(spark, tmp_path, "fx", "currency STRING, rate DOUBLE", rows)
    found = with_cardinality(spark, transactions, fx, Cardinality.MANY_TO_ONE)
    assert [row[3] for row in found] == [200.0, None, None, None]


def test_a_constant_in_the_condition_selects_among_repeated_keys(
    spark: SparkSession, transactions: DatasetSnapshot, tmp_path: Path
) -> None:
    rows = [("EUR", 2.0), ("EUR", 3.0), ("GBP", 3.0)]
    fx = dataset(spark, tmp_path, "fx", "currency STRING, rate DOUBLE", rows)
    on = f"{ON} AND fx.rate > 2.5"
    found = with_cardinality(spark, transactions, fx, Cardinality.MANY_TO_ONE, on)
    assert [row[3] for row in found] == [300.0, 150.0, None, None]


def test_different_keys_that_are_equal_after_a_cast_are_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = dataset(spark, tmp_path, "t", "id INT, amount DOUBLE", [(1, 10.0), (2, 20.0)])
    fx = dataset(spark, tmp_path, "fx", "id STRING, rate DOUBLE", [("1", 2.0), ("01", 3.0)])
    with pytest.raises(ProjectRunError, match=r"several rows of 'fx': id = 1 \(2 rows\)"):
        with_cardinality(spark, given, fx, Cardinality.MANY_TO_ONE, "t.id = fx.id")


def test_keys_may_have_dots_in_their_names(spark: SparkSession, tmp_path: Path) -> None:
    given = dataset(spark, tmp_path, "t", "`a.b` INT, amount DOUBLE", [(1, 10.0)])
    fx = dataset(spark, tmp_path, "fx", "`a.b` INT, rate DOUBLE", [(1, 2.0), (2, 3.0)])
    on = "t.`a.b` = fx.`a.b`"
    (row,) = with_cardinality(spark, given, fx, Cardinality.MANY_TO_ONE, on)
    assert row[-1] == 20.0


def test_one_to_one_rejects_two_working_rows_of_one_joined_row(
    spark: SparkSession, fx: DatasetSnapshot, tmp_path: Path
) -> None:
    rows = [(1, "EUR", 1.0), (2, "EUR", 2.0), (3, "GBP", 1.0)]
    schema = "id INT, currency STRING, amount DOUBLE"
    given = dataset(spark, tmp_path, "transactions", schema, rows)
    with pytest.raises(ProjectRunError, match=r"several rows of the working dataset: currency_fx"):
        with_cardinality(spark, given, fx, Cardinality.ONE_TO_ONE)
    assert len(with_cardinality(spark, given, fx, Cardinality.MANY_TO_ONE)) == 3


def test_the_period_filter_reaches_the_scan_of_parquet(
    spark: SparkSession,
    transactions: DatasetSnapshot,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [("EUR", 2.0, "2026-01"), ("EUR", 9.0, "2026-02")]
    schema = "currency STRING, rate DOUBLE, _period STRING"
    fx = dataset(spark, tmp_path, "fx", schema, rows, TemporalMode.PERIOD)
    operation = UpdateOperation(
        (RuntimeJoin("fx", "fx", f"{ON} AND fx.rate > 1"),), (Assignment("rate", "fx.rate"),)
    )
    given = snapshot(transactions, [joined(fx, "fx")], operation)
    frame = result_frame(spark, "p", given)
    frame.explain("formatted")
    plan = capsys.readouterr().out
    assert "EqualTo(_period,2026-01)" in plan
    assert "GreaterThan(rate,1.0)" in plan
    assert [row[3] for row in rows_of(spark, given)] == [2.0, None, None, None]
