"""Parquet files that packers read: what comes of them is what Spark reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

import millstream as ms
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.file.names import to_reader_type
from millstream.connectors.file.parquet_files import ParquetFiles
from millstream.connectors.file.values import Column
from millstream.connectors.work_items import PART
from millstream.engine.compile.columnar import ColumnarCompiler
from millstream.engine.compile.file_streams import FileStreams, SparkParquetReader
from millstream.engine.scan.loop import Scan, ScannedColumn
from millstream.errors import RunError

SCHEMA = (
    "a bigint, b int, c smallint, d tinyint, e boolean, f float, g double, h string, i binary, "
    "j date, k timestamp, l decimal(10,2), m decimal(38,0)"
)
ROW: dict[str, Any] = {
    "a": -(2**63),
    "b": 7,
    "c": -3,
    "d": 127,
    "e": True,
    "f": 1.5,
    "g": -0.0,
    "h": "é\u0000x",
    "i": b"\xff\x00",
    "j": date(1969, 12, 31),
    "k": datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    "l": Decimal("-99999999.99"),
    "m": Decimal(10**37),
}
ROWS = [ROW, dict.fromkeys(ROW), {**ROW, "g": float("inf"), "h": ""}]


def scan_of(schema: str, base: Path) -> Scan:
    columns, declared = [], []
    for field in cast("StructType", StructType.fromDDL(schema)):
        kind = to_reader_type(field.dataType)
        assert kind is not None
        columns.append(ScannedColumn(field.name, field.name, kind))
        declared.append(Column(field.name, kind, field.dataType.simpleString().upper()))
    files = ParquetFiles(str(base), tuple(declared), any_file=True)
    return Scan(SparkParquetReader("s", files), tuple(columns))


def scanned(schema: str, path: Path, **same: int) -> list[dict[str, Any]]:
    names = pa.table({"path": [f"file:{path}"], **{k: [v] for k, v in same.items()}})
    batches = scan_of(schema, path.parent).rows(names.to_batches())
    return [row for batch in batches for row in batch.to_pylist()]


def by_spark(spark: SparkSession, schema: str, path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spark.read.schema(schema).parquet(str(path)).toArrow().to_pylist()
    return rows


@pytest.mark.parametrize("times", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_every_type_that_spark_writes(spark, tmp_path, times) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA).coalesce(1)
    spark.conf.set("spark.sql.parquet.outputTimestampType", times)
    try:
        frame.write.parquet(str(tmp_path / "made"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    (path,) = (tmp_path / "made").glob("part-*")
    assert scanned(SCHEMA, path) == by_spark(spark, SCHEMA, path)
    if times != "TIMESTAMP_MILLIS":
        assert scanned(SCHEMA, path) == ROWS


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("x bigint", pa.array([1, None], pa.int32())),
        ("x bigint", pa.array([-1, None], pa.int8())),
        ("x double", pa.array([0.1, None], pa.float32())),
        ("x string", pa.array(["é", None], pa.large_string())),
        ("x string", pa.array(["é", None]).dictionary_encode()),
        ("x string", pa.array([b"abc", None], pa.binary())),
        ("x binary", pa.array(["é", None])),
        ("x timestamp", pa.array([1_700_000_000_123, None], pa.timestamp("ms"))),
        ("x timestamp", pa.array([-1, None], pa.timestamp("us"))),
        ("x bigint", pa.array([2**32 - 1, None], pa.uint32())),
        ("x double", pa.array([2**31 - 1, None], pa.int32())),
        ("x timestamp", pa.array([-1, None], pa.timestamp("us", "Europe/Berlin"))),
        ("x decimal(12,2)", pa.array([Decimal("1.10"), None], pa.decimal128(10, 2))),
    ],
)
def test_a_file_may_hold_a_narrower_type(spark, tmp_path, declared, column) -> None:
    path = tmp_path / "a b=c%20d.parquet"
    pq.write_table(pa.table({"X": column, "y": ["other", "column"]}), path)
    assert scanned(declared, path) == by_spark(spark, declared, path)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("group", [1, 4, 10, 100])
def test_the_parts_of_a_file_are_all_of_it_in_order(tmp_path, parts, group) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": list(range(10))}), path, row_group_size=group)
    whole = scan_of("a bigint", tmp_path)
    scan = replace(whole, parts=parts)
    names = [pa.table({"path": [f"file:{path}"], PART: [part]}) for part in range(parts)]
    read = [
        [row["a"] for batch in scan.rows(part.to_batches()) for row in batch.to_pylist()]
        for part in names
    ]
    assert [a for rows in read for a in rows] == list(range(10))
    assert max(map(len, read)) < 10 or parts == 1
    assert whole.size_of(str(path)) > 0
    assert whole.size_of(str(tmp_path / "none")) == whole.size_of(None) == 0


def test_files_are_cut_where_that_pays(spark, tmp_path, monkeypatch) -> None:
    """The result is the same, whatever reads them."""
    monkeypatch.setattr(SparkParquetReader, "min_part_bytes", 1)
    read: list[int] = []
    cut = ColumnarCompiler._split_files

    def counted(self: ColumnarCompiler, inputs: Any) -> Any:
        compiled = list(cut(self, inputs))
        read.extend(packer_spec.scan.parts for _, packer_spec in compiled if packer_spec.scan)
        return compiled

    monkeypatch.setattr(ColumnarCompiler, "_split_files", counted)
    assert sum(count for *_, count in _counted(spark, tmp_path, ("auto", "auto"))) == 200
    assert read == [2, 2]


def test_a_column_that_a_file_lacks_is_null(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"y": [1, 2]}), path)
    assert scanned("x string", path) == [{"x": None}, {"x": None}]


def test_what_comes_with_a_name_is_that_of_every_row(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    assert scanned("x bigint", path, now=9) == [{"x": 1, "now": 9}, {"x": 2, "now": 9}]


@pytest.mark.parametrize(
    ("declared", "table", "said"),
    [
        ("x int", pa.table({"x": [1]}), "its column x is int64, which cannot be read as INT"),
        (
            "x bigint",
            pa.table({"x": ["1"]}),
            "is string, which cannot be read as BIGINT",
        ),
        ("x string", pa.table({"x": pa.array([b"\xff"])}), "row 1: column x"),
        ("x timestamp", pa.table({"x": pa.array([1], pa.timestamp("ns"))}), "row 1: column x"),
        ("x decimal(10,2)", pa.table({"x": [Decimal("1.234")]}), "decimal"),
        ("x bigint", pa.table([[1], [2]], names=["x", "X"]), "it has the column x 2 times"),
    ],
)
def test_another_type_is_rejected(tmp_path, declared, table, said) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    with pytest.raises(RunError, match=said) as raised:
        scanned(declared, path)
    assert raised.value.code == "MS-RUN-PARQUET"
    assert ".option('reader', 'spark')" in str(raised.value)


def test_a_file_that_is_not_parquet_is_named(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("x\n1\n")
    with pytest.raises(RunError, match=r"a\.parquet: the file cannot be read: it is not a whole"):
        scanned("x bigint", path)


def test_dates_of_the_julian_calendar_are_rejected(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"x": [date(1500, 1, 1)], "y": [1]})
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), path)
    assert scanned("y bigint", path) == [{"y": 1}]
    with pytest.raises(RunError, match="calendar of Spark 2"):
        scanned("x date", path)


def test_a_partition_folder_is_rejected(tmp_path) -> None:
    path = tmp_path / "x=1" / "a.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"y": [1]}), path)
    names = pa.table({"path": [f"file:{path}"]}).to_batches()
    assert list(scan_of("y bigint", tmp_path).rows(names))
    with pytest.raises(RunError, match="x=1"):
        list(scan_of("x bigint", tmp_path).rows(names))


def test_which_streams_packers_read(spark, tmp_path) -> None:
    def known(frame: Any) -> bool:
        return FileStreams(spark).of("s", DeferredFrame.of(frame)) is not None

    plain, has_progress_column = tmp_path / "plain", tmp_path / "apart"
    plain.mkdir()
    (has_progress_column / "day=1").mkdir(parents=True)
    reader = spark.readStream.schema("x bigint, day int")
    assert known(reader.parquet(str(plain)))
    assert known(reader.option("maxFilesPerTrigger", 1).parquet(f"file://{plain}"))
    assert not known(reader.parquet(str(plain)).where("x > 1"))
    assert not known(reader.parquet(str(has_progress_column)))
    assert not known(reader.parquet(f"{plain}*"))
    assert not known(reader.json(str(plain)))
    assert not known(reader.option("reader", "spark").parquet(str(plain)))
    assert not known(reader.option("mergeSchema", "true").parquet(str(plain)))
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert not known(spark.readStream.schema("x bigint").parquet(str(plain)))
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_rows_are_counted_where_no_column_is_read(spark, tmp_path) -> None:
    pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "a.parquet")
    rows = spark.readStream.schema("x bigint").parquet(str(tmp_path))
    counted = ms.sql(
        "SELECT COUNT(*) AS n FROM s EMIT CHANGES WITH ('state.ttl' = 'forever')", s=rows
    ).to_df()
    query = counted.writeStream.format("memory").queryName("counted_rows")
    assert query.trigger(availableNow=True).start().awaitTermination(120)
    assert [row.n for row in spark.sql("SELECT n FROM counted_rows").collect()] == [3]


def test_an_expression_that_makes_rows_makes_them_unread(spark, tmp_path) -> None:
    pq.write_table(pa.table({"k": [1, 2], "xs": [[1, 2, 3], [4]]}), tmp_path / "a.parquet")
    rows = spark.readStream.schema("k bigint, xs array<bigint>").parquet(str(tmp_path))
    text = "SELECT k, COUNT(*) AS n FROM (SELECT k, explode(xs) AS x FROM s) GROUP BY k"
    counted = ms.sql(f"{text} EMIT CHANGES WITH ('state.ttl' = 'forever')", s=rows).to_df()
    query = counted.writeStream.format("memory").queryName("exploded_rows")
    assert query.trigger(availableNow=True).start().awaitTermination(120)
    found = spark.sql("SELECT k, n FROM exploded_rows ORDER BY k").collect()
    assert [tuple(row) for row in found] == [(1, 3), (2, 1)]


def test_a_stream_that_is_read_twice_is_one_source(spark, tmp_path) -> None:
    streams = FileStreams(spark)
    rows = DeferredFrame.of(spark.readStream.schema("x bigint").parquet(str(tmp_path)))
    assert streams.of("s", rows) is streams.of("s", rows)


@pytest.mark.parametrize("least", [1, ParquetFiles.min_part_bytes])
def test_a_job_may_change_its_reader(spark, tmp_path, monkeypatch, least) -> None:
    """Both keep the same log of what was read, and hash and group keys alike, also of parts."""
    monkeypatch.setattr(SparkParquetReader, "min_part_bytes", least)
    whole, changed = (
        _counted(spark, tmp_path / name, readers)
        for name, readers in (
            ("whole", ("spark", "spark", "spark")),
            ("changed", ("auto", "spark", "auto")),
        )
    )
    assert whole == changed
    assert sum(count for *_, count in whole) == 300


def _counted(spark: SparkSession, folder: Path, readers: tuple[str, ...]) -> Counter[Any]:
    (folder / "in").mkdir(parents=True)
    found: Counter[Any] = Counter()

    def write(rows: Any, _: int) -> None:
        for row in rows.collect():
            found[tuple(row)[:-1]] = row[-1]

    for number, reader in enumerate(readers):
        ids = range(number * 100, number * 100 + 100)
        times = [datetime(2026, 1, 1, 0, 0, i % 60, tzinfo=UTC) for i in ids]
        keys = pa.array([None if i % 7 == 0 else i % 5 for i in ids], pa.int32())
        table = pa.table({"k": keys, "t": times})
        pq.write_table(table, folder / "in" / f"{number} é%20=.parquet")
        rows = spark.readStream.schema("k int, t timestamp")
        rows = rows.option("reader", "spark") if reader == "spark" else rows
        stream = ms.stream(rows.parquet(str(folder / "in")), time="t", delay="60s")
        counted = ms.sql(
            "SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES WITH ('state.ttl' = 'forever')",
            s=stream,
        ).to_df()
        query = counted.where("_OP <> '-U'").drop("_OP").writeStream.foreachBatch(write)
        query = query.option("checkpointLocation", str(folder / "checkpoint"))
        started = query.trigger(availableNow=True).start()
        assert started.awaitTermination(120)
    return Counter({(*key, count) for key, count in found.items()})
