"""A row is a dead letter exactly if Spark fails for it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from millstream.connectors.dead_letters import BAD
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.engine.compile.stateless import StreamFrame, compile_select
from millstream.engine.scan.loop import KEEP
from millstream.plan.build.job import build_query
from millstream.plan.nodes import Column, Source

# Columns with their types and values, as SQL.
COLUMNS: dict[str, tuple[str, list[str]]] = {
    "s": ("STRING", ["''", "'7'", "'abc'", "'1.5'", "' 12 '", "'2147483648'", "'NaN'", "'true'"]),
    "t": ("STRING", ["'2026-01-15'", "'2026-01-15 10:00:00'", "'2026-13-01'", "'soon'"]),
    "i": ("INT", ["0", "1", "-1", "7", "2147483647", "-2147483648"]),
    "j": ("INT", ["0", "0", "1", "2", "3", "-1"]),
    "b": ("BIGINT", ["0", "1", "4611686018427387904", "9223372036854775807"]),
    "f": ("DOUBLE", ["0", "1.5", "1e300", "'NaN'"]),
    "d": ("DECIMAL(5,2)", ["0", "999.99", "-1.5"]),
    "a": ("ARRAY<INT>", ["array()", "array(1, NULL, 3)"]),
    "m": ("MAP<STRING,INT>", ["map()", "map('7', 1)"]),
}
SELECTS = [
    "CAST(s AS INT), CAST(t AS DATE)",
    "CAST(s AS INT) + CAST(s AS INT)",  # one part twice, which Spark computes once
    "i + 1, i * j, b - 1, -b, abs(i)",
    "i / j, i DIV j, b % j, mod(i, j)",
    "f / j, CAST(f AS INT), d * d * d, CAST(d AS TINYINT)",
    "CASE WHEN j <> 0 THEN i / j WHEN s = 'abc' THEN CAST(s AS INT) ELSE 1 END",
    "CASE j WHEN 0 THEN 1 WHEN 10 / (j - 1) THEN 2 ELSE CAST(s AS INT) END",
    "coalesce(i, CAST(s AS INT), 1 / j), nvl(j, i DIV 0), if(j = 0, 0, i DIV j)",
    "i + s, s + 1, s > 5, s IN (1, 2), s BETWEEN 1 AND 9",
    "to_timestamp(t), to_date(t, 'yyyy-MM-dd'), date(t), CAST(t AS TIMESTAMP)",
    "a[j], element_at(a, j), m[s], element_at(m, s), try_element_at(a, 9)",
    "try_cast(s AS INT), try_divide(i, j), try_add(i, j), try_to_timestamp(t)",
    "transform(a, x -> 6 DIV x), aggregate(a, 0, (n, x) -> n + x), to_json(named_struct('x', i))",
    "CAST(s AS BOOLEAN), int(s), s::BIGINT, make_date(2000 + j, j, j), unix_timestamp(t)",
    "nullif(i DIV j, 1), greatest(i, 1 DIV j), struct(i DIV j), array(1 DIV j)[0], size(a)",
    "i FROM x WHERE i DIV j > 0 AND CAST(s AS INT) > 0",
    "CAST(s AS INT) FROM x WHERE j <> 0 AND 6 DIV j > 1 AND 6 DIV j < 5",
    "i DIV j FROM x WHERE j = 0 OR s = '7' OR CAST(s AS INT) IS NULL",
    "raise_error(s) FROM x WHERE i = 7",
    "assert_true(i IS NULL OR i < 7), s FROM x WHERE NOT (j = 0)",
]
ROWS = 12


def make_rows(select: str) -> list[str]:
    """Random rows, as SQL; one value in eight is NULL."""
    chosen = random.Random(select)

    def value(kind: str, values: list[str]) -> str:
        return f"CAST({'NULL' if chosen.random() < 0.125 else chosen.choice(values)} AS {kind})"

    return [f"({', '.join(value(*each) for each in COLUMNS.values())})" for _ in range(ROWS)]


def table(rows: list[str]) -> str:
    return f"VALUES {', '.join(rows)} AS x({', '.join(COLUMNS)})"


def outcome(spark: SparkSession, select: str, row: str) -> list[str] | str | None:
    """What Spark returns for a table of one row: its values, None if WHERE removes it, or
    "failed"."""
    columns, _, where = select.partition(" FROM x WHERE ")
    try:
        if where:
            [passes] = spark.sql(f"SELECT coalesce({where}, false) FROM {table([row])}").collect()
            if not passes[0]:
                return None
        [found] = spark.sql(f"SELECT {columns} FROM {table([row])}").collect()
        return [str(value) for value in found]
    except PySparkException:
        return "failed"


def split(columns: str) -> list[str]:
    """The terms of a select list."""
    depth, found = 0, [""]
    for sign in columns:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return found


def diverted(spark: SparkSession, select: str, rows: list[str]) -> list[Any]:
    """The same of the step that the engine compiles, for all rows together."""
    source = Source("x", tuple(Column(name, kind) for name, (kind, _) in COLUMNS.items()))
    columns, _, where = select.partition(" FROM x WHERE ")
    named = ", ".join(f"{term} AS c{number}" for number, term in enumerate(split(columns)))
    text = f"SELECT {named} FROM x{f' WHERE {where}' if where else ''}"
    node = build_query(text, {"x": source}).root
    frame = spark.sql(f"SELECT * FROM {table(rows)}").coalesce(1)
    result = compile_select(node, StreamFrame(DeferredFrame.of(frame), rejects_as="x"))
    found: list[Any] = []
    for row in result.frame.collect():
        values = [str(row[output.name]) for output in node.outputs]
        found.append(values if row[KEEP] else None)
        if row[BAD] is not None:
            assert json.loads(row[BAD])["report"]["column"] in select
            assert not row[KEEP]
            found[-1] = "failed"
    return found


@pytest.mark.slow
def test_a_row_is_a_dead_letter_if_and_only_if_spark_fails_for_it(spark):
    failed = 0
    for select in SELECTS:
        rows = make_rows(select)
        expected = [outcome(spark, select, row) for row in rows]
        assert diverted(spark, select, rows) == expected, select
        failed += expected.count("failed")
    assert ROWS * 4 < failed < ROWS * (len(SELECTS) - 4)  # neither no row nor every row
