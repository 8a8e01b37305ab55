"""One engine, one query, one process: reads generated files, writes what it measured."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench.nexmark.raw_spark import SPARK_QUERIES, SparkQuery, Streams
from bench.nexmark.suite import QUERIES, job_of
from bench.nexmark.write import read
from bench.worker import (
    SESSION,
    PeakMemory,
    counted,
    plain_session,
    progress,
    size,
    spark_state_rows,
)
from millstream.engine.runtime.session import local_session, warm
from millstream.plan.nodes.traversal import operators_of
from millstream.run.job import JobRun

_ONCE: dict[str, Any] = {"availableNow": True}


@dataclass(frozen=True, slots=True)
class Task:
    engine: str  # columnar | native, of Millstream; spark: its raw form
    query: str
    folder: str
    checkpoint: str = ""
    files: int = 1  # a micro-batch
    cores: int = 2


def run(task: Task) -> dict[str, Any]:
    raw = task.engine == "spark"
    spark = (
        plain_session(task.cores)
        if raw
        else local_session(task.cores, log=None, ends=True, **SESSION)
    )
    memory = PeakMemory()
    memory.start()
    began = time.monotonic()
    started, query, extra = _raw(spark, task) if raw else _ours(spark, task)
    made = {
        "task": asdict(task),
        "seconds": round(time.monotonic() - began, 3),  # from the session to the query's end
        "prepare_seconds": round(started - began, 3),  # of it, until the query was started
        "peak_memory_bytes": memory.stop(),
        "checkpoint_bytes": size(Path(task.checkpoint)),
        "state_rows": spark_state_rows(query),
        **progress(query),
        **extra,
    }
    spark.stop()
    return counted(made, _events(task))


def _ours(spark: SparkSession, task: Task) -> tuple[float, Any, dict[str, Any]]:
    data, out = read(Path(task.folder)), Path(task.checkpoint).with_name("out")
    job = job_of(QUERIES[task.query], data, out, files=task.files, engine=task.engine)
    if any(operators_of(each.root) for each in job.pipelines) and task.engine == "columnar":
        warm(spark)
    run = JobRun(spark, job, checkpoint=Path(task.checkpoint), base=Path(task.folder))
    started = time.monotonic()
    run.start(_ONCE)
    while not run.wait(60):
        pass
    (pipeline,) = run.running
    ledger = pipeline.ledger_store.ledger
    extra = {"rows_out": ledger.rows_out}
    if rows := ledger.state.get("state_rows"):
        extra["state_rows"] = rows
    return started, pipeline.streaming_query, extra


def _raw(spark: SparkSession, task: Task) -> tuple[float, Any, dict[str, Any]]:
    """Spark's own, written as `SparkQuery` says, to nowhere unless the query is about writing."""
    form = SPARK_QUERIES[task.query](Streams(spark, read(Path(task.folder)), task.files))
    collected: list[Any] = []
    writer = form.frame.writeStream.outputMode(form.mode)
    writer = writer.option("checkpointLocation", task.checkpoint)
    if form.collected is not None:
        writer = writer.foreachBatch(_collecting(form, collected))
    elif form.partitions:
        out = str(Path(task.checkpoint).with_name("out"))
        writer = writer.format("csv").option("header", "true").option("path", out)
        writer = writer.partitionBy(*form.partitions)
    else:
        writer = writer.format("noop")
    started = time.monotonic()
    query = writer.trigger(**_ONCE).start()
    query.awaitTermination()
    return started, query, {"rows_out": len(collected)} if form.collected is not None else {}


def _collecting(form: SparkQuery, collected: list[Any]) -> Any:
    def write(rows: DataFrame, _: int) -> None:
        assert form.collected is not None
        collected.extend(form.collected(rows).collect())

    return write


def _events(task: Task) -> int:
    """Every event once, also of a stream that a plan reads twice."""
    counts = read(Path(task.folder)).counts()
    return sum(counts[kind] for kind in QUERIES[task.query].reads)


if __name__ == "__main__":
    result = run(Task(**json.loads(sys.argv[1])))
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")
