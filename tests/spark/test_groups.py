"""Key groups: labels that Spark's own hash spreads evenly, the same for ever."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from millstream.spark.groups import labels, murmur3_int


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


def test_spark_puts_the_groups_of_a_checkpoint_evenly_on_its_partitions(spark) -> None:
    rows = spark.createDataFrame([(label,) for label in labels(8)], "label int")
    spread = rows.repartition(2, "label").rdd.glom().map(len).collect()
    assert spread == [4, 4]
