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

from bench import data


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
    from millstream.spark.session import HDFS_BACKED, ROCKSDB, local_session, warm

    provider = HDFS_BACKED if task.engine == "native-hdfs" else ROCKSDB
    conf = {
        "spark.driver.memory": "6g",
        "spark.sql.streaming.stateStore.providerClass": provider,
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
    }
    spark = local_session(task.cores, **conf)
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
    peak = memory.stop()
    processor = _processor_seconds()
    batches = [p for p in query.recentProgress if p.numInputRows > 0]
    made = {
        "task": asdict(task),
        "seconds": round(seconds, 3),  # from the query's start to its end
        "prepare_seconds": round(started - began, 3),  # from the session to the query's start
        "rows": sum(p.numInputRows for p in batches),
        "rows_out": sum(p.sink.numOutputRows for p in query.recentProgress),
        "batch_ms": [p.durationMs["triggerExecution"] for p in batches],
        "batch_rows": [p.numInputRows for p in batches],
        "phases_ms": _phases(batches),
        "peak_memory_bytes": peak,
        "cpu_seconds": round(processor, 1),
        "state_rows": _state_rows(task, query, batches),
        "checkpoint_bytes": _size(Path(task.checkpoint)),
    }
    spark.stop()
    return made


def _processor_seconds() -> float:
    """Of this process, its JVM and its workers since they started."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _phases(batches: list[Any]) -> dict[str, int]:
    """What Spark says a micro-batch spends its time on, median of the later half."""
    later = [p.durationMs for p in batches[len(batches) // 2 :]]
    return {name: int(median(each[name] for each in later)) for name in later[0]} if later else {}


def _state_rows(task: Task, query: Any, batches: list[Any]) -> int:
    import millstream as ms

    if task.engine == "columnar":
        account = ms.account(query)
        return account.state["state_rows"] if account else 0
    return sum(op.numRowsTotal for op in batches[-1].stateOperators) if batches else 0


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    result = run(Task(**json.loads(sys.argv[1])))
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")
