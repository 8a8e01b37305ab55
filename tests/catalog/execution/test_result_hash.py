"""The hash of a result depends on the rows and their columns, and on nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from millstream.catalog.execution.result_hash import ObservedRows
from millstream.errors import ProjectError

SCHEMA = "a INT, b STRING, c DOUBLE"
ROWS = [(1, "x", 0.5), (2, None, 1.5), (None, "y", None), (1, "x", 0.5)]


def hash_of(frame: DataFrame) -> str:
    observed = ObservedRows(frame)
    observed.rows.write.format("noop").mode("overwrite").save()
    assert observed.count() == frame.count()
    return observed.content_hash()


def of(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str = SCHEMA) -> str:
    return hash_of(spark.createDataFrame(rows, schema))


def test_it_ignores_the_order_and_the_partitions_of_rows(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    expected = hash_of(frame)
    assert expected.startswith("rows-1:")
    assert hash_of(frame.orderBy("c")) == expected
    assert hash_of(frame.repartition(7)) == expected
    assert of(spark, ROWS[::-1]) == expected


@pytest.mark.parametrize(
    ("rows", "schema"),
    [
        (ROWS[:3], SCHEMA),  # once, not twice
        ([*ROWS, ROWS[0]], SCHEMA),
        ([(1, "x", 0.5), (2, None, 1.5), (None, "y", None), (1, "x", 0.25)], SCHEMA),
        ([(1, "x", 0.5), (None, None, 1.5), (2, "y", None), (1, "x", 0.5)], SCHEMA),
        (ROWS, "a INT, b STRING, d DOUBLE"),
        (ROWS, "a BIGINT, b STRING, c DOUBLE"),
    ],
)
def test_other_rows_have_another_hash(
    spark: SparkSession, rows: list[tuple[Any, ...]], schema: str
) -> None:
    assert of(spark, rows, schema) != of(spark, ROWS)


def test_the_place_of_a_null_counts(spark: SparkSession) -> None:
    pair = "a INT, b INT"
    assert of(spark, [(None, 1)], pair) != of(spark, [(1, None)], pair)
    array = "a ARRAY<INT>"
    assert of(spark, [([None, 1],)], array) != of(spark, [([1, None],)], array)
    struct = "a STRUCT<x: INT, y: INT>"
    assert of(spark, [((None, 1),)], struct) != of(spark, [((1, None),)], struct)


def test_an_empty_result_has_a_hash(spark: SparkSession) -> None:
    assert of(spark, []) == of(spark, [])
    assert of(spark, []) != of(spark, [(None, None, None)])


def test_the_order_of_the_entries_of_a_map_does_not_count(spark: SparkSession) -> None:
    def nested(text: str) -> str:
        return hash_of(spark.sql(f"SELECT array(named_struct('m', {text})) AS a, {text} AS m"))

    one = nested("map('a', 1, 'b', 2)")
    assert nested("map('b', 2, 'a', 1)") == one
    assert nested("map('a', 2, 'b', 1)") != one
    assert nested("map('a', 1)") != one
    assert nested("CAST(NULL AS MAP<STRING, INT>)") != nested("CAST(map() AS MAP<STRING, INT>)")


def test_a_value_that_cannot_be_compared_is_rejected(spark: SparkSession) -> None:
    frame = spark.sql("SELECT struct(parse_json('1')) AS v")
    with pytest.raises(ProjectError, match=r"MS-PROJECT-RESULT-TYPE.*column v .*type variant"):
        ObservedRows(frame)
