"""Packers evaluate predicates and window bounds on files that they read, with Spark's results."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import millstream as ms
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.engine.compile.file_streams import FileStreams
from millstream.engine.compile.packet_columns import PacketColumnBuilder
from millstream.engine.compile.stateless import StreamFrame, compile_stream
from millstream.engine.scan.window_bounds import WindowBound
from millstream.errors import PlanError
from millstream.plan.expressions.parse import parse_expression
from millstream.plan.nodes import Column, Output, Select, Source
from millstream.values import Pane

SCHEMA = "k bigint, s string, c int, t timestamp"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
BOUND = "AND r.t BETWEEN l.t - INTERVAL 5 SECONDS AND l.t + INTERVAL 5 SECONDS"
QUERIES = {
    "conditions of an inner join": "SELECT l.k, l.c, r.s FROM l JOIN r ON l.k = r.k "
    f"{BOUND} WHERE l.c = 1 AND r.s IN ('a', 'b')",
    "conditions in ON of a left join": "SELECT l.k, l.c, l.t, r.s FROM l LEFT JOIN r ON l.k = r.k "
    f"{BOUND} AND l.c < 2 AND r.s = 'a'",
    "conditions in ON of a full join by text": "SELECT l.s, l.c, r.c AS other, r.t FROM l "
    f"FULL JOIN r ON l.s = r.s {BOUND} AND l.c IS NOT NULL AND NOT (r.c = 1)",
    "a key that is buffered, too": "SELECT l.k, r.k AS other, r.c FROM l LEFT JOIN r ON l.k = r.k "
    f"{BOUND} AND r.c = 1",
    "filters of aggregates": "SELECT k, COUNT(*) FILTER (WHERE c = 1) AS n, "
    "COUNT(DISTINCT s) FILTER (WHERE c >= 1 AND s <> 'a') AS m, MAX(c) FILTER (WHERE s = 'b') AS x "
    "FROM l WINDOW TUMBLING(INTERVAL 4 SECONDS) GROUP BY k EMIT FINAL",
    "a window join": "SELECT l.k, l.c, r.c AS other, _WINDOW_START FROM l LEFT JOIN r "
    "ON l.k = r.k WINDOW TUMBLING(INTERVAL 4 SECONDS)",
    "a window join with a condition": "SELECT l.k, l.c, _WINDOW_END FROM l JOIN r ON l.k = r.k "
    "AND l.c = 1 WINDOW TUMBLING(INTERVAL 4 SECONDS)",
}


def test_spark_hears_of_no_stream_that_packers_read(spark, tmp_path) -> None:
    (tmp_path / "l").mkdir()
    rows = DeferredFrame.of(spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "l")))
    below = Source("l", (Column("k", "bigint"), Column("t", "timestamp")))
    begin = "timestamp_micros(unix_micros(l.t) - pmod(unix_micros(l.t), 4000000))"
    pane = Output(parse_expression(begin), "begin", pane=Pane("t", 4_000_000))
    outputs = (Output(parse_expression("l.s"), "name"), pane)

    def compile_node(*outputs: Output) -> StreamFrame:
        node = Select(below, outputs, where=parse_expression("l.c >= 1"), alias="l")
        return compile_stream(node, {"l": rows}, no_operator, FileStreams(spark).of)

    plain = compile_node(*outputs)
    assert plain.rows._frame is None
    known = plain.rows.types
    assert plain.files is not None
    assert plain.rows._frame is None
    assert known == {each.name: each.dataType for each in plain.frame.schema}
    assert (
        compile_node(*outputs, Output(parse_expression("l.c + 1"), "more")).rows.frame.columns[2]
        == "more"
    )
    with pytest.raises(PlanError, match="nowhere"):
        compile_node(*outputs, Output(parse_expression("nowhere(l.c)"), "more"))


def no_operator(node: object) -> StreamFrame:
    raise AssertionError(node)


@pytest.mark.parametrize(("slide", "offset", "after"), [(10, 0, 0), (7, 3, 7), (4, -1, 3)])
def test_window_bounds_are_those_of_spark(spark, slide, offset, after) -> None:
    times = pa.array([None, 0, -1, -7, 1, 13, 10**15], pa.timestamp("us", "UTC"))
    compiled = WindowBound("t", Pane("t", slide, offset, after)).evaluate(times)
    text = (
        f"timestamp_micros(unix_micros(t) - pmod(unix_micros(t) - {offset}, {slide}) + {after}) m"
    )
    expected = spark.createDataFrame(pa.table({"t": times})).selectExpr(text).toArrow()
    assert compiled.cast(pa.int64()).to_pylist() == expected["m"].cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("about", QUERIES)
def test_rows_are_the_same_whoever_reads_the_files(spark, tmp_path, monkeypatch, about) -> None:
    read: list[bool] = []
    ready = PacketColumnBuilder.build

    def expected(self: PacketColumnBuilder, *args: Any, **options: Any) -> Any:
        compiled = ready(self, *args, **options)
        read.append(compiled.scan is not None)
        return compiled

    monkeypatch.setattr(PacketColumnBuilder, "build", expected)
    for side, seed in (("l", 1), ("r", 2)):
        _write(tmp_path / side, Random(seed))
    by_packers = _result(spark, tmp_path, "auto", QUERIES[about])
    assert all(read)
    read.clear()
    by_spark = _result(spark, tmp_path, "spark", QUERIES[about])
    assert not any(read)
    assert by_packers == by_spark
    assert by_packers.total() > 5


def _write(folder: Path, random: Random) -> None:
    folder.mkdir()
    for number in range(3):
        rows = [
            {
                "k": random.choice([None, 1, 2, 3]),
                "s": random.choice([None, "a", "b", "c"]),
                "c": random.choice([None, 0, 1, 2]),
                "t": BEGIN + timedelta(seconds=number * 10 + random.random() * 10),
            }
            for _ in range(20)
        ]
        types = [("k", pa.int64()), ("s", pa.string()), ("c", pa.int32())]
        schema = pa.schema([*types, ("t", pa.timestamp("us", "UTC"))])
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"{number}.parquet")


def _result(spark: SparkSession, folder: Path, reader: str, text: str) -> Counter[Any]:
    found: Counter[Any] = Counter()
    streams = {}
    for side in ("l", "r"):
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        rows = rows.option("reader", "spark") if reader == "spark" else rows
        streams[side] = ms.stream(rows.parquet(str(folder / side)), time="t", delay="10s")
    used: dict[str, Any] = {name: each for name, each in streams.items() if f" {name} " in text}
    query = (
        ms.sql(text, **used)
        .to_df()
        .select(F.struct("*").cast("string"))
        .writeStream.foreachBatch(lambda compiled, _: found.update(map(tuple, compiled.collect())))
        .option("checkpointLocation", str(folder / f"checkpoint-{reader}"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    return found
