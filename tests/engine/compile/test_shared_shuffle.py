"""Operators over the results of a join, by its key, share its shuffle: the result is the same as
with a shuffle in between, however the input is split into micro-batches."""

from __future__ import annotations

import os
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
from millstream.engine.compile import columnar
from millstream.plan.facts.colocation import find_shared_shuffle

SCHEMA = "k bigint, i int, s string, d decimal(10,2), c int, m map<string, int>, t timestamp"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
BOUND = "AND r.t BETWEEN l.t - INTERVAL 5 SECONDS AND l.t + INTERVAL 5 SECONDS"


def _joined(key: str, columns: str = "l.k, l.i, l.s, l.d, l.c, l.m, r.c AS other, r.t") -> str:
    return f"(SELECT {columns} FROM l JOIN r ON l.{key} = r.{key} {BOUND}) j"


LASTING = "WITH ('state.ttl' = '1 hour')"
WINDOW = "WINDOW TUMBLING(INTERVAL 4 SECONDS)"
CALLS = "COUNT(*) AS n, SUM(c) AS total, MAX(other) AS top, COUNT(DISTINCT c) AS kinds"
QUERIES = {
    "windows by a number": f"SELECT k, {CALLS}, _WINDOW_START FROM {_joined('k')} {WINDOW} "
    "GROUP BY k",
    "windows by a smaller number": f"SELECT i, {CALLS} FROM {_joined('i')} {WINDOW} GROUP BY i",
    "windows by a text": f"SELECT s, {CALLS} FROM {_joined('s')} {WINDOW} GROUP BY s",
    "windows by a decimal": f"SELECT d, {CALLS} FROM {_joined('d')} {WINDOW} GROUP BY d",
    "by the key and more": f"SELECT k, s, c, {CALLS} FROM {_joined('k')} {WINDOW} GROUP BY s, c, k",
    "by texts and more": f"SELECT k, s, {CALLS} FROM {_joined('s')} {WINDOW} GROUP BY k, s",
    "sessions": f"SELECT k, c, COUNT(*) AS n, MAX(t) AS last FROM {_joined('k')} "
    "WINDOW SESSION(GAP INTERVAL 2 SECONDS) GROUP BY k, c",
    "sliding windows": f"SELECT k, {CALLS}, _WINDOW_END FROM {_joined('k')} "
    "WINDOW SLIDING(SIZE INTERVAL 4 SECONDS, SLIDE INTERVAL 2 SECONDS) GROUP BY k",
    "the first and the last": "SELECT k, MIN_BY(other, t) AS a, MAX_BY(other, t) AS b, "
    f"SORT_ARRAY(COLLECT_LIST(s)) AS texts FROM {_joined('k')} {WINDOW} GROUP BY k",
    "rows before": "SELECT k, t, SUM(other) OVER (PARTITION BY k ORDER BY t ROWS BETWEEN "
    f"2 PRECEDING AND CURRENT ROW) AS last_three FROM {_joined('k')} {LASTING}",
    "a join with a map": f"SELECT j.k, j.m, r.c FROM {_joined('k')} JOIN r ON j.k = r.k "
    "AND r.t BETWEEN j.t AND j.t + INTERVAL 1 SECONDS",
    "results read twice": f"WITH p AS (SELECT l.k, l.c, r.t FROM l JOIN r ON l.k = r.k {BOUND}) "
    "SELECT a.k, a.c, b.c AS d FROM p a JOIN p b ON a.k = b.k AND b.t BETWEEN a.t AND a.t",
    "each once": f"SELECT DISTINCT ON (k, c) k, c FROM {_joined('k')} {LASTING}",
}
# Of each operator, from the sink's on.
SHARED = {"results read twice": [True, False, False]}
CHANGING = {
    "top rows": "SELECT k, c, other, t FROM "
    f"{_joined('k')} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY c DESC, t) <= 2 "
    f"EMIT CHANGES {LASTING}",
    "top rows with a map": "SELECT k, c, m, t FROM "
    f"{_joined('k')} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY t, c) <= 3 "
    f"EMIT CHANGES {LASTING}",
    "running totals": f"SELECT s, k, {CALLS} FROM {_joined('s')} GROUP BY s, k "
    f"EMIT CHANGES {LASTING}",
}


@pytest.mark.parametrize("about", [*QUERIES, *CHANGING])
def test_the_result_is_the_same_as_with_a_shuffle(spark, tmp_path, monkeypatch, about) -> None:
    for side, seed in (("l", 1), ("r", 2)):
        _write(tmp_path / side, Random(seed))
    text, changing = {**QUERIES, **CHANGING}[about], about in CHANGING
    shared: list[bool] = []

    def evaluate(operator: Any) -> Any:
        found = find_shared_shuffle(operator)
        shared.append(found is not None)
        return found

    monkeypatch.setattr(columnar, "find_shared_shuffle", evaluate)
    compiled = [_result(spark, tmp_path, text, files, changing) for files in (1, 4)]
    expected = SHARED.get(about, [True, False])
    assert shared == expected * 2, "the operator reads the join's results in its host"
    monkeypatch.setattr(columnar, "find_shared_shuffle", lambda _: None)
    assert compiled == [_result(spark, tmp_path, text, 2, changing)] * 2
    assert compiled[0].total() > 5


def _write(folder: Path, random: Random) -> None:
    folder.mkdir()
    types = [("k", pa.int64()), ("i", pa.int32()), ("s", pa.string()), ("d", pa.decimal128(10, 2))]
    types += [("c", pa.int32()), ("m", pa.map_(pa.string(), pa.int32()))]
    schema = pa.schema([*types, ("t", pa.timestamp("us", "UTC"))])
    for number in range(4):
        rows = [
            {
                "k": random.choice([None, 1, 2, 3]),
                "i": random.choice([None, -1, 0, 7]),
                "s": random.choice([None, "", "a", "a longer text of more than thirty-two bytes"]),
                "d": random.choice([None, 1, 2]),
                "c": random.choice([None, 0, 1, 2]),
                "m": random.choice([None, [], [("a", 1), ("b", None)]]),
                "t": BEGIN + timedelta(seconds=number * 10 + random.random() * 10),
            }
            for _ in range(20)
        ]
        path = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
        os.utime(path, (number + 1, number + 1))  # Spark takes the oldest first


def _result(
    spark: SparkSession, folder: Path, text: str, files: int, changing: bool
) -> Counter[Any]:
    """All rows; of a changelog, the final rows."""
    found: Counter[Any] = Counter()
    streams: dict[str, Any] = {}
    for side in ("l", "r"):
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files)
        streams[side] = ms.stream(reader.parquet(str(folder / side)), time="t", delay="10s")

    def add(compiled: Any, _: int) -> None:
        for op, row in compiled.collect():
            found[row] += -1 if op in ("-U", "-D") else 1

    rows = ms.sql(text, **streams).to_df()
    values = F.struct(*(name for name in rows.columns if name != "_OP")).cast("string")
    query = (
        rows.select("_OP" if changing else F.lit("+I"), values)
        .writeStream.foreachBatch(add)
        .option("checkpointLocation", str(folder / f"checkpoint-{files}"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    return +found
