"""Spark's own forms, over files that are read at once, give the oracle's rows."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest
from bench.nexmark.differences import difference
from bench.nexmark.expected import Oracle
from bench.nexmark.options import Options
from bench.nexmark.raw_spark import SPARK_QUERIES, Streams
from bench.nexmark.suite import QUERIES
from bench.nexmark.write import write

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    data = write(Options(4_000, rate=500), tmp_path_factory.mktemp("nexmark") / "data", files=2)
    oracle = Oracle(data)
    yield oracle
    oracle.close()


@pytest.mark.parametrize("name", [name for name in SPARK_QUERIES if name not in ("q4", "q12")])
def test_a_form_gives_the_rows_of_the_oracle(name, oracle, spark):
    form = SPARK_QUERIES[name](Streams(spark, oracle.data, streaming=False))
    came = pl.DataFrame(form.frame.toArrow())
    assert not difference(oracle.result(QUERIES[name]), came)


def test_q4_gives_what_the_driver_makes_the_average_of(oracle, spark):
    form = SPARK_QUERIES["q4"](Streams(spark, oracle.data, streaming=False))
    assert form.collected is not None
    rows = form.collected(form.frame).collect()
    came = [(category, total // count) for category, total, count in rows]
    assert sorted(came) == sorted(oracle.result(QUERIES["q4"]).rows())


@pytest.mark.parametrize("name", list(SPARK_QUERIES))
def test_spark_takes_a_form_as_a_stream(name, oracle, spark, tmp_path):
    form = SPARK_QUERIES[name](Streams(spark, oracle.data))
    writer = form.frame.writeStream.format("noop").outputMode(form.mode)
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    query.awaitTermination()
    assert query.exception() is None
    assert sum(each.numInputRows for each in query.recentProgress) > 0
