"""Predicates that packers evaluate have the same results as in Spark; others are left to Spark."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import millstream as ms
from millstream.engine.compile.expressions import find_column
from millstream.engine.compile.pushdown import scan_predicate
from millstream.plan.expressions.parse import parse_expression

SCHEMA = "a bigint, i int, d tinyint, s string, b boolean, g double"
DECIDED = (
    "a = 1",
    "1 < a",
    "-1 >= o.a",
    "a <> 1",
    "a IN (0, 1, -1)",
    "a NOT IN (0, 1)",
    "NOT a BETWEEN -1 AND 0",
    "i = 3000000000 OR i < -3000000000",
    "d < 200",
    "s = 'é'",
    "s >= 'b' AND s <= 'é'",
    "s IN ('', 'a')",
    "s BETWEEN 'A' AND 'a'",
    "b",
    "NOT b",
    "b = TRUE OR b <> FALSE",
    "a IS NULL",
    "`a` IS NOT NULL AND (b OR s = 'a')",
    "NOT (a > 0 OR b)",
    "a > 0 AND NOT (b AND s = 'a') OR i IS NULL",
)
LEFT_TO_SPARK = (
    "g > 1",
    "a = 1.0",
    "a = '1'",
    "s = 1",
    "s = 'a\\\\b'",
    "s = 'it''s'",
    "s LIKE 'a%'",
    "a + 1 = 2",
    "a = i",
    "a <=> 1",
    "a = NULL",
    "s IN ('a', NULL)",
    "a IN (SELECT 1)",
    "rand() > 0.5",
    "CAST(a AS INT) = 1",
    "a = 9223372036854775808",
    "p.a = 1",
    "c = 1",
    "a",
)


def read(spark: Any, text: str) -> Any:
    frame = spark.createDataFrame([], SCHEMA)
    types = {each.name: each.dataType for each in frame.schema}
    return scan_predicate(parse_expression(text), lambda it: find_column(it, "o", types), types)


def test_conditions_are_decided_as_spark_does(spark) -> None:
    values = product(
        (None, -1, 0, 1), (None, 7), (None, 127), (None, "", "a", "é"), (None, True, False)
    )
    rows = [(a, i, d, s, b, 0.5) for a, i, d, s, b in values]
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    table = frame.toArrow().combine_chunks()
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    selected = [F.expr(f"coalesce({text}, false)").alias(f"c{n}") for n, text in enumerate(DECIDED)]
    expected = frame.alias("o").select(*selected).toArrow()
    for number, text in enumerate(DECIDED):
        found = read(spark, text)
        assert found is not None, text
        evaluate = pc.fill_null(found.evaluate(columns), False)
        assert evaluate.to_pylist() == expected[f"c{number}"].to_pylist(), text


@pytest.mark.parametrize("text", LEFT_TO_SPARK)
def test_other_conditions_are_left_to_spark(spark, text) -> None:
    assert read(spark, text) is None


@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_rows_that_are_filtered_out_still_move_time(spark, tmp_path, reader) -> None:
    """With both readers; counts are balanced."""
    rows = [
        (k, datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC))
        for second, k in enumerate([1, 2, 1, 3, 9])
    ]
    table = pa.table({"k": [k for k, _ in rows], "t": [t for _, t in rows]})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    found: Counter[Any] = Counter()
    opened = spark.readStream.schema("k bigint, t timestamp")
    opened = opened.option("reader", "spark") if reader == "spark" else opened
    stream = ms.stream(opened.parquet(str(tmp_path / "in")), time="t")
    counted = ms.sql(
        "SELECT k, COUNT(*) AS n FROM s WHERE k < 3 WINDOW TUMBLING(INTERVAL '2' SECONDS) "
        "GROUP BY k EMIT FINAL",
        s=stream,
    ).to_df()
    query = (
        counted.writeStream.foreachBatch(
            lambda compiled, _: found.update(map(tuple, compiled.collect()))
        )
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    ledger = ms.ledger(query)
    assert found == Counter({(1, 1): 2, (2, 1): 1})
    assert ledger is not None
    (counts,) = ledger.inputs
    assert (counts["in"], counts["filtered"]) == (5, 2)
