"""Column references are compiled without Spark's parser, with the same result."""

from __future__ import annotations

import pytest
from pyspark.sql.types import LongType, StringType, StructType, TimestampNTZType
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token

import millstream as ms
from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.memory import MemoryStream
from millstream.engine.compile.expressions import spark_column, types_of
from millstream.plan.expressions.parse import parse_expression
from millstream.plan.nodes import Column

TYPES = (
    *("BIGINT", "int", "SMALLINT", "TINYINT", "BOOLEAN", "FLOAT", "DOUBLE", "STRING", "BINARY"),
    *("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "DECIMAL(10, 2)", "ARRAY<BIGINT>", "STRUCT<a: INT>"),
)


@pytest.mark.parametrize("kind", TYPES)
def test_declared_types_are_those_of_spark(spark, kind) -> None:
    assert to_spark_schema(spark, [Column("a b", kind)]) == StructType.fromDDL(f"`a b` {kind}")


def test_timestamps_are_those_that_a_session_asks_for(spark) -> None:
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        (field,) = to_spark_schema(spark, [Column("t", "TIMESTAMP")])
    finally:
        spark.conf.unset("spark.sql.timestampType")
    assert field.dataType == TimestampNTZType()


@pytest.mark.parametrize(
    "text", ["a", "A", "s.a", "`a`", "`x y`", "s.`x y`", "st.f", "s.st.f", "1", "true", "a + 1"]
)
def test_an_expression_is_what_spark_reads(spark, text) -> None:
    rows = spark.sql("SELECT 7L AS a, 'é' AS `x y`, named_struct('f', 3) AS st").alias("s")
    (compiled,) = rows.select(spark_column(parse_expression(text)).alias("it")).collect()
    (expected,) = rows.selectExpr(f"{text} AS it").collect()
    assert compiled == expected


def test_a_word_of_sql_is_no_column(spark) -> None:
    rows = spark.sql("SELECT 1 AS `true`")
    assert rows.select(spark_column(parse_expression("true")).alias("it")).first().it is True
    assert rows.select(spark_column(parse_expression("`true`")).alias("it")).first().it == 1


def test_types_of_plain_columns_and_of_expressions(spark) -> None:
    rows = DeferredFrame.of(spark.sql("SELECT 7L AS a, 'é' AS b"))
    texts = ["s.a", "upper(s.b)", "b", "length(b) + a"]
    given = [parse_expression(text) for text in texts]
    assert types_of(rows, "s", given) == [LongType(), StringType(), StringType(), LongType()]


def test_a_query_is_parsed_once_from_its_text_to_its_dataframe(spark, monkeypatch) -> None:
    parsed: list[str] = []
    parse = Parser.parse

    def counted(self: Parser, tokens: list[Token], sql: str) -> object:
        parsed.append(sql)
        return parse(self, tokens, sql)

    monkeypatch.setattr(Parser, "parse", counted)
    stream = MemoryStream(spark, "k string, n int, t timestamp").frame()
    ms.sql(
        "SELECT k, max_by(n + 1, t) FILTER (WHERE n > 1) AS last FROM s WHERE upper(k) <> 'A' "
        "WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY k EMIT FINAL",
        s=ms.stream(stream, time="t", delay="1 second"),
    )
    assert len([text for text in parsed if "_ms_operand_" not in text]) == 1
    assert len(parsed) == len(set(parsed))
