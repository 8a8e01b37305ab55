"""One engine, one query, one process: reads the files of `data`, writes what it measured."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench import data
from millstream.engine.runtime.session import HDFS_BACKED, local_session, warm
from millstream.engine.runtime.user_session import ROCKSDB

# What all runs that are measured have in common.
SESSION = {
    "spark.driver.memory": "6g",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


@dataclass(frozen=True, slots=True)
class Task:
    engine: str  # columnar | native-rocksdb | native-hdfs
    query: str  # one of QUERIES
    folder: str
    checkpoint: str = ""
    upper: int = data.BOUND
    cores: int = 2
    url: str = ""  # of a database


class PeakMemory(threading.Thread):
    """The greatest resident memory of this process and all its children.

    Pages that forked workers share count for each; to count them once would slow the run down.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._done = threading.Event()

    def run(self) -> None:
        me = psutil.Process()
        while not self._done.wait(0.5):
            total = 0
            for process in (me, *me.children(recursive=True)):
                try:
                    total += process.memory_info().rss
                except psutil.Error:
                    continue
            self.peak = max(self.peak, total)

    def stop(self) -> int:
        self._done.set()
        return self.peak


def run(task: Task) -> dict[str, Any]:
    from bench.queries import QUERIES

    if task.engine == "columnar":
        spark = local_session(task.cores, log=None, ends=True, **SESSION)
    else:
        spark = plain_session(task.cores, HDFS_BACKED if task.engine == "native-hdfs" else ROCKSDB)
    memory = PeakMemory()
    memory.start()
    began = time.monotonic()
    if task.engine == "columnar":
        warm(spark)
    rows = QUERIES[task.query](spark, task)
    started = time.monotonic()
    query = (
        rows.writeStream.format("noop")
        .option("checkpointLocation", task.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds = time.monotonic() - started
    made = {
        "task": asdict(task),
        "seconds": round(seconds, 3),  # from the query's start to its end
        "prepare_seconds": round(started - began, 3),  # from the session to the query's start
        "peak_memory_bytes": memory.stop(),
        "state_rows": _state_rows(task, query),
        "checkpoint_bytes": size(Path(task.checkpoint)),
        **progress(query),
    }
    spark.stop()
    return counted(made, _rows_of(Path(task.folder)))


def plain_session(cores: int, provider: str = ROCKSDB) -> SparkSession:
    """Spark with its defaults, except for the number of partitions and the state store."""
    builder = SparkSession.builder
    for name, value in {
        "spark.master": f"local[{cores}]",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": provider,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        **SESSION,
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def counted(made: dict[str, Any], rows: int) -> dict[str, Any]:
    """The same with rows of data: Spark counts those of its sources, which may be names of files,
    or the same data twice. Files of one stream are of one size."""
    share = rows / made["rows"]
    return made | {"rows": rows, "batch_rows": [round(each * share) for each in made["batch_rows"]]}


def _rows_of(folder: Path) -> int:
    return sum(pq.read_metadata(path).num_rows for path in folder.glob("*/*.parquet"))


def progress(query: Any) -> dict[str, Any]:
    """Spark's reports of a query's micro-batches, and the processor time of all processes."""
    batches = batches_of(query)
    return {
        "rows": sum(p.numInputRows for p in batches),
        "rows_out": _rows_out(query),
        "batch_ms": [p.durationMs["triggerExecution"] for p in batches],
        "batch_rows": [p.numInputRows for p in batches],
        "phases_ms": _phases(batches),
        "cpu_seconds": round(_processor_seconds(), 1),
    }


def batches_of(query: Any) -> list[Any]:
    """Those that took rows in."""
    return [p for p in query.recentProgress if p.numInputRows > 0]


def _rows_out(query: Any) -> int | None:
    """None of a sink that does not count."""
    counts = [p.sink.numOutputRows for p in query.recentProgress]
    return sum(counts) if all(count >= 0 for count in counts) else None


def spark_state_rows(query: Any) -> int:
    """Rows in the state of Spark's own operators after the last batch."""
    batches = batches_of(query)
    return sum(op.numRowsTotal for op in batches[-1].stateOperators) if batches else 0


def _processor_seconds() -> float:
    """Of this process, its JVM and its workers since they started."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _phases(batches: list[Any]) -> dict[str, int]:
    """What Spark says a micro-batch spends its time on, median of the later half."""
    later = [p.durationMs for p in batches[len(batches) // 2 :]]
    return {name: int(median(each[name] for each in later)) for name in later[0]} if later else {}


def _state_rows(task: Task, query: Any) -> int:
    import millstream as ms

    if task.engine == "columnar":
        ledger = ms.ledger(query)
        return ledger.state["state_rows"] if ledger else 0
    return spark_state_rows(query)


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    result = run(Task(**json.loads(sys.argv[1])))
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")
