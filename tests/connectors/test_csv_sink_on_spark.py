"""What the CSV sink writes, Python, polars, DuckDB and our own reader read back unchanged."""

from __future__ import annotations

import csv
import io
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from tests.connectors.sink_writer import write_frame

from millstream.connectors.dead_letters import BAD
from millstream.connectors.file.csv_lines import CsvLines
from millstream.connectors.file.options import files_of
from millstream.connectors.file.sink import FileSink
from millstream.connectors.file.sink_options import COMPRESSIONS
from millstream.errors import PlanError
from millstream.plan.nodes import Source
from millstream.run.failures import failure
from millstream.values import CsvDialect

DIFFICULT = [
    *("", " ", "  lead", "trail  ", "\t", '"', '""', 'a"b', '"a"', ",", "a,b", "\n", "\r", "\r\n"),
    *(
        "a\nb",
        "a\r\nb",
        "\\",
        '\\"',
        "a\\",
        "a\\\nb",
        "#",
        "#a",
        "NULL",
        "null",
        "\\N",
        "'",
        "é€😀",
    ),
    *("\ufeff", "\u2028", "\x0b", "\x1c", "\x85", "=1+1", "-", "0", '","', '"\n"', "\\,", "nan"),
]
texts = st.text(st.sampled_from("a ,\"\n\r\\\t#;'|é😀0N")) | st.text(st.characters(codec="utf-8"))
Row = tuple[str | None, ...]
RFC_4180 = CsvDialect()


def to_frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    names = [f"c{number}" for number in range(len(rows[0]))]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return spark.createDataFrame(pa.table(columns, names)).coalesce(1)


def written(spark, folder: Path, rows: list[Row], dialect: CsvDialect = RFC_4180) -> Path:
    write_frame(
        FileSink(str(folder), "csv", csv=CsvLines("out", dialect)), to_frame(spark, rows), 0
    )
    [path] = folder.glob("*.csv")
    return path


def read_by_python(path: Path) -> list[Row]:
    text = path.read_bytes().decode()
    rows: list[Row] = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))]
    return rows[1:]


def read_by_polars(path: Path) -> list[Row]:
    return pl.read_csv(path, infer_schema=False).rows()


def read_by_duckdb(path: Path) -> list[Row]:
    options = """header = true, all_varchar = true, quote = '"', escape = '"', delim = ',',
    auto_detect = false, strict_mode = true, allow_quoted_nulls = false,
    parallel = false, new_line = '\\n'"""
    names = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    columns = "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in names) + "}"
    found = duckdb.connect().execute(
        f"SELECT * FROM read_csv('{path}', columns = {columns}, {options})"
    )
    return found.fetchall()


def read_by_us(path: Path, columns: str, **options: str) -> list[dict[str, Any]]:
    given = {"format": "csv", **{name.replace("_", "."): text for name, text in options.items()}}
    source = Source("s", (), options=tuple(given.items()))
    schema = cast("StructType", StructType.fromDDL(columns))
    files = files_of(source, str(path.parent), schema)
    wanted = {each.name: each.type for each in files.columns}
    found = pa.Table.from_batches(files.read(str(path), wanted, 0, 1))
    assert found[BAD].null_count == len(found)
    rows: list[dict[str, Any]] = found.select(list(wanted)).to_pylist()
    return rows


def without_null(rows: list[Row]) -> list[Row]:
    """As a reader sees rows that takes NULL for an empty text."""
    return [tuple(value or "" for value in row) for row in rows]


def test_difficult_texts_are_read_back_unchanged(spark, tmp_path):
    rows: list[Row] = [(text, "x", text) for text in DIFFICULT]
    rows += [(None, "x", None), ("x", None, ""), (None, None, None)]
    path = written(spark, tmp_path, rows)
    assert read_by_python(path) == without_null(rows)
    assert read_by_polars(path) == rows
    assert read_by_duckdb(path) == rows


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(texts | st.none(), st.just("x"), texts | st.none()), min_size=1))
def test_any_texts_are_read_back_unchanged(spark, tmp_path_factory, rows):
    path = written(spark, tmp_path_factory.mktemp("csv"), rows)
    assert read_by_python(path) == without_null(rows)
    if not any("\0" in (value or "") for row in rows for value in row):
        assert read_by_polars(path) == rows
        assert read_by_duckdb(path) == rows


@pytest.mark.parametrize(
    ("dialect", "options"),
    [
        (RFC_4180, {}),
        (
            CsvDialect(delimiter=";", quote="'", escape="\\", null="NULL"),
            {"delimiter": ";", "quote": "'", "escape": "\\", "null_value": "NULL"},
        ),
    ],
    ids=["RFC 4180", "other"],
)
def test_our_reader_reads_back_difficult_texts(spark, tmp_path, dialect, options):
    rows: list[Row] = [(text, text) for text in DIFFICULT]
    rows += [(None, "x"), ("x", None), ("", None)]
    found = read_by_us(written(spark, tmp_path, rows, dialect), "c0 STRING, c1 STRING", **options)
    assert [(row["c0"], row["c1"]) for row in found] == rows


@pytest.mark.parametrize(
    "dialect",
    [
        CsvDialect(delimiter="\t", quote="'", escape="'", null="NULL"),
        CsvDialect(delimiter=";", escape="\\", null="none"),
        CsvDialect(delimiter="a", null="0"),
    ],
    ids=["tabs", "backslash", "letters"],
)
def test_other_dialects_are_read_back_by_python(spark, tmp_path, dialect):
    rows: list[Row] = [(text, "x", text) for text in (*DIFFICULT, dialect.null)]
    rows.append((None, "x", None))
    path = written(spark, tmp_path, rows, dialect)
    text = path.read_bytes().decode()
    doubled = dialect.escape == dialect.quote
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        doublequote=doubled,
        escapechar=None if doubled else dialect.escape,
    )
    expected = [tuple(dialect.null if value is None else value for value in row) for row in rows]
    assert [tuple(row) for row in reader][1:] == expected
    # A text of the characters that stand for NULL is in quotes.
    assert f"{dialect.quote}{dialect.null}{dialect.quote}{dialect.delimiter}x" in text


def test_column_names_that_need_quotes_get_them(spark, tmp_path):
    names = ['a,"b"', " c", "d\ne", "`f`"]
    frame = spark.createDataFrame(pa.table([pa.array(["1"])] * 4, names))
    write_frame(FileSink(str(tmp_path), "csv"), frame, 0)
    [path] = tmp_path.glob("*.csv")
    text = path.read_text(encoding="utf-8")
    assert next(csv.reader(io.StringIO(text, newline=""))) == names
    assert text == '"a,""b"""," c","d\ne",`f`\n1,1,1,1\n'


VALUES = {
    "whole": pa.array([-1, None], pa.int64()),
    "money": pa.array([Decimal("0.000"), Decimal("-12345.678")], pa.decimal128(20, 3)),
    "real": pa.array([float("nan"), float("-inf")], pa.float64()),
    "zero": pa.array([-0.0, 1e300], pa.float64()),
    "half": pa.array([0.5, -1.5], pa.float32()),
    "flag": pa.array([True, False]),
    "day": pa.array([date(1, 1, 1), date(9999, 12, 31)]),
    "at": pa.array(
        [datetime(2026, 1, 15, 10, tzinfo=UTC), datetime(1900, 1, 1, 0, 0, 0, 1, tzinfo=UTC)],
        pa.timestamp("us", "UTC"),
    ),
}


def test_values_of_every_type_have_a_text_that_our_reader_reads_back(spark, tmp_path):
    table = pa.table(VALUES)
    write_frame(FileSink(str(tmp_path), "csv"), spark.createDataFrame(table).coalesce(1), 0)
    [path] = tmp_path.glob("*.csv")
    assert path.read_text().splitlines() == [
        ",".join(VALUES),
        "-1,0.000,NaN,-0.0,0.5,true,0001-01-01,2026-01-15T10:00:00.000000Z",
        ",-12345.678,-Infinity,1.0E300,-1.5,false,9999-12-31,1900-01-01T00:00:00.000001Z",
    ]
    found = read_by_us(
        path,
        "whole BIGINT, money DECIMAL(20, 3), real DOUBLE, zero DOUBLE, half FLOAT, flag BOOLEAN, "
        "day DATE, at TIMESTAMP",
    )
    for got, expected in zip(found, table.to_pylist(), strict=True):
        assert _comparable(got) == _comparable(expected)


def _comparable(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (repr(value) if isinstance(value, float) and not math.isinf(value) else value)
        for name, value in row.items()
    }


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("array(1)", "array<int>"),
        ("map('a', 1)", "map<string,int>"),
        ("named_struct('a', 1)", "struct<a:int>"),
        ("X'ff'", "binary"),
        ("INTERVAL '1' DAY", "interval day"),
    ],
)
def test_types_without_a_form_in_csv_are_rejected(spark, tmp_path, expression, kind):
    sink = FileSink(str(tmp_path), "csv", csv=CsvLines("out"))
    with pytest.raises(PlanError) as caught:
        sink.check(lambda: spark.sql(f"SELECT 1 AS n, {expression} AS it"))
    assert str(caught.value) == (
        "MS-PLAN-CSV-TYPE: the sink out writes CSV, and column it has the type "
        f"{kind}, which CSV does not support. Write it as a string, such as to_json(…), "
        "base64(…) or CAST(… AS STRING), or set 'format' = 'json' or 'parquet'."
    )


def test_a_null_that_would_be_an_empty_line_stops_the_job(spark, tmp_path):
    rows: list[Row] = [("",), (None,)]
    sink = FileSink(str(tmp_path / "a"), "csv", csv=CsvLines("out"))
    with pytest.raises(Exception, match="MS-RUN-CSV-NULL") as caught:
        write_frame(sink, to_frame(spark, rows), 0)
    assert str(failure(caught.value)) == (
        "MS-RUN-CSV-NULL: the sink out writes one column, c0, and NULL would be an empty line, "
        "which readers of CSV skip. Set 'null.value' of the sink, such as 'null.value' = 'NULL'."
    )
    path = written(spark, tmp_path / "b", rows, CsvDialect(null="NULL"))
    assert path.read_text() == 'c0\n""\nNULL\n'


def test_every_file_of_a_partitioned_sink_has_the_header_first(spark, tmp_path):
    rows = spark.range(0, 1000, numPartitions=3).selectExpr("id", "id % 3 AS `the key`")
    write_frame(FileSink(str(tmp_path), "csv", partition_by=("the key",)), rows, 0)
    found = sorted(tmp_path.rglob("*.csv"))
    assert {path.parent.name for path in found} == {"the key=0", "the key=1", "the key=2"}
    ids: list[int] = []
    for path in found:
        header, *lines = path.read_text().splitlines()
        assert header == "id"
        assert {int(line) % 3 for line in lines} == {int(path.parent.name[-1])}
        ids += map(int, lines)
    assert sorted(ids) == list(range(1000))


def test_null_and_empty_partition_values_share_a_file_with_one_header(spark, tmp_path):
    given = "VALUES (NULL, 1), ('', 2), ('__HIVE_DEFAULT_PARTITION__', 3), ('a/b', 4) AS t(p, v)"
    rows = spark.sql(f"SELECT * FROM {given}").coalesce(1)
    write_frame(FileSink(str(tmp_path), "csv", partition_by=("p",)), rows, 0)
    found = {path.parent.name: path.read_text() for path in tmp_path.rglob("*.csv")}
    assert found == {"p=__HIVE_DEFAULT_PARTITION__": "v\n1\n2\n3\n", "p=a%2Fb": "v\n4\n"}


def test_types_without_a_form_in_parquet_are_rejected(spark, tmp_path):
    sink = FileSink(str(tmp_path), "parquet")
    with pytest.raises(PlanError) as caught:
        sink.projection(spark.sql("SELECT INTERVAL '1' DAY AS it").schema)
    assert caught.value.code == "MS-PLAN-SINK-TYPE"
    assert "column it has the type interval day" in caught.value.cause


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "orc"])
def test_every_compression_that_is_offered_can_be_written_and_read(spark, tmp_path, form):
    for compression in COMPRESSIONS[form]:
        folder = tmp_path / compression
        write_frame(
            FileSink(str(folder), form, options={"compression": compression}), spark.range(3), 0
        )
        reader = spark.read.schema("id bigint").option("header", "true").format(form)
        assert sorted(row.id for row in reader.load(str(folder)).collect()) == [0, 1, 2]
