"""Errors of workers and of Spark's raise_error arrive whole through a real Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.run.test_error_transport import fields

from millstream.connectors.row_errors import raise_error
from millstream.errors import MillstreamError, Place, RunError, StateError
from millstream.run.failures import failure, user_error

HARD = (
    'a "quoted" {brace} \\ back\\slash ${x} <y> it\'s\n'
    "\tat java.F(F.java:1)\nCaused by: x.Error: é 値 \u2028 🎉. "
)
FIX = "Set 'a' = 'b'. SQLSTATE: 42000 [MILLSTREAM-ERROR]{"
PLACE = Place(3, 7, 'SELECT "値"\tAS x', "job.sql")


def received(frame) -> MillstreamError:
    with pytest.raises(MillstreamError) as caught, user_error():
        frame.write.format("noop").mode("overwrite").save()
    return caught.value


def received_by_query(spark, frame, tmp_path) -> MillstreamError:
    """The error of a streaming query whose micro-batch reads the frame."""

    def write(_: DataFrame, __: int) -> None:
        frame.write.format("noop").mode("overwrite").save()

    return error_of_query(spark, write, tmp_path)


def error_of_query(spark, write: Callable[[DataFrame, int], None], tmp_path) -> MillstreamError:
    stream = spark.readStream.format("rate").load().writeStream.foreachBatch(write)
    query = stream.option("checkpointLocation", str(tmp_path)).start()
    with pytest.raises(PySparkException) as caught:
        query.awaitTermination(60)
    return failure(caught.value)


def frame_of_worker(spark, error: MillstreamError):
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            raise error
        yield from ()

    return spark.range(1).coalesce(1).mapInArrow(fail, "id bigint")


@pytest.mark.parametrize("long", [1, 2_000])
def test_an_error_of_a_worker_arrives_whole(spark, tmp_path, long):
    error = StateError("MS-STATE-LIMIT", HARD * long, fix=FIX, place=PLACE)
    frame = frame_of_worker(spark, error)
    assert fields(received(frame)) == fields(error)
    found = received_by_query(spark, frame, tmp_path)
    assert fields(found) == fields(error)


@pytest.mark.parametrize("long", [1, 2_000])
def test_an_error_that_spark_raises_arrives_whole(spark, tmp_path, long):
    error = RunError("MS-RUN-MALFORMED", f"row 0: {HARD * long}", fix=FIX)
    cause = F.concat(F.lit("row "), F.col("id"), F.lit(": "), F.lit(HARD * long))
    raised = raise_error(error.code, cause, error.fix)
    frame = spark.range(1).select(F.when(F.col("id") < 5, raised).alias("x"))
    assert fields(received(frame)) == fields(error)
    found = received_by_query(spark, frame, tmp_path)
    assert fields(found) == fields(error)


def test_an_error_that_the_driver_raises_in_a_micro_batch_arrives_whole(spark, tmp_path):
    error = RunError("MS-RUN-SINK", HARD, fix=FIX, place=PLACE)
    error.annotate()

    def write(_: DataFrame, __: int) -> None:
        raise error

    assert fields(error_of_query(spark, write, tmp_path)) == fields(error)
