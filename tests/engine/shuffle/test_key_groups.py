"""Key groups: labels that Spark's own hash spreads evenly, the same for ever."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from pyspark.sql import functions as F

from millstream.engine.shuffle.key_groups import labels
from millstream.engine.shuffle.spark_hashes import murmur3_int, xxhash64


def test_labels_never_change() -> None:
    assert labels(8) == (2122, 31483, 6234, 29997, 7468, 3429, 296, 6729)
    assert labels(4) == labels(8)[:4]


@pytest.mark.parametrize("groups", [1, 2, 8, 60, 128])
def test_labels_are_different(groups: int) -> None:
    assert len(set(labels(groups))) == groups


@pytest.mark.parametrize("partitions", [1, 2, 3, 4, 5, 6, 8, 16, 32])
def test_groups_fall_evenly_on_partitions(partitions: int) -> None:
    groups = partitions * 4
    hashes = murmur3_int(np.array(labels(groups))).astype(np.int64)
    assert set(Counter((hashes % partitions).tolist()).values()) == {4}


def test_murmur3_is_spark_s_own(spark) -> None:
    values = [0, 1, 42, 2122, 31483, 2**31 - 1]
    rows = spark.createDataFrame([(value,) for value in values], "v int").selectExpr("hash(v) h")
    assert murmur3_int(np.array(values)).tolist() == [row.h for row in rows.collect()]


def test_xxhash64_is_spark_s_own(spark) -> None:
    schema = "a long, b int, c smallint, d tinyint, e boolean, f date, g timestamp"
    times = [datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(2026, 1, 1, tzinfo=UTC)]
    rows = [
        (2**63 - 1, -1, -(2**15), 127, True, times[1].date(), times[0]),
        (-(2**63), 2**31 - 1, 7, -1, False, times[0].date(), times[1]),
        (None, 0, None, 0, None, None, None),
        (0, None, 0, None, True, times[0].date(), None),
    ]
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    table = frame.toArrow()
    for names in (*([name] for name in "abcdefg"), list("ab"), list("abcdefg"), ["g", "a"]):
        expected = [row.h for row in frame.select(F.xxhash64(*names).alias("h")).collect()]
        assert xxhash64([table[name] for name in names]).tolist() == expected, names


def test_xxhash64_of_texts_is_spark_s_own(spark) -> None:
    rng = random.Random(1)
    texts = ["".join(rng.choices("aé☃𝄞\0 z", k=length)) for length in range(70) for _ in range(3)]
    rows: list[tuple[Any, ...]] = [
        (text, text.encode(), number) for number, text in enumerate(texts)
    ]
    rows += [(None, b"", -1), ("", None, -2)]
    rng.shuffle(rows)
    frame = spark.createDataFrame(rows, "a string, b binary, c int").coalesce(1)
    table = frame.toArrow()
    for names in ["a"], ["b"], ["c", "a", "b"]:
        expected = [row.h for row in frame.select(F.xxhash64(*names).alias("h")).collect()]
        assert xxhash64([table[name] for name in names]).tolist() == expected, names
        assert xxhash64([table[name][40:] for name in names]).tolist() == expected[40:]
        assert xxhash64([table[name][:0] for name in names]).tolist() == []


def test_spark_puts_the_groups_of_a_checkpoint_evenly_on_its_partitions(spark) -> None:
    rows = spark.createDataFrame([(label,) for label in labels(8)], "label int")
    spread = rows.repartition(2, "label").rdd.glom().map(len).collect()
    assert spread == [4, 4]
