"""The Spark session and its settings, with defaults for a laptop and for a cluster."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf
from pyspark.sql import SparkSession

from millstream.engine.runtime import class_archive as archive
from millstream.engine.runtime.check import check_driver, check_jvm
from millstream.engine.runtime.jvm import active_session, launch, load_state_store
from millstream.engine.runtime.master import check_master
from millstream.engine.runtime.spark_log import decisive_line, disable_callback_errors, since
from millstream.engine.runtime.user_session import (
    CHANGELOG,
    PREPARED,
    ROCKSDB,
    STATE_STORE,
    prepare,
)
from millstream.engine.runtime.worker_start import DAEMON, cache_bytes, sockets, worker_python
from millstream.errors import RunError
from millstream.kernels.state.segment_cache import CACHE_SETTING

HDFS_BACKED = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

# Settings for every environment.
ENGINE = {
    PREPARED: "true",
    STATE_STORE: ROCKSDB,
    # A micro-batch writes what it changed, not a copy of all state.
    CHANGELOG: "true",
    # Spark waits forever for a batch that does not end when its query is stopped; the next run
    # retries the batch in any case.
    "spark.sql.streaming.stopTimeout": "30s",
    # Packers gather what they pack; larger batches are slower to write, and start readers later.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.python.daemon.module": DAEMON,
    "spark.python.worker.reuse": "true",
    # Times in SQL texts and files without an offset are UTC on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Stateful operators leave this out of their workers' environment, and workers are shared only
    # where it is the same: with it there would be two daemons, each with all imports of its own.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # With it, PySpark makes three calls to the JVM for each column instead of one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

# Less optimisation of code that is rarely run. The JVM's compiler took 26 of 83 processor seconds
# of the interval-join benchmark; with these settings 11 of 60.
_JIT = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)

# Packets are arrays of megabytes, for which the JVM's default collector is slow, and its threads
# cost too much on few cores. A first batch took 5.4 s, now 4.7.
_COLLECTOR = " -XX:+UseParallelGC"

# Java's defaults are small: until the heap has grown, a start causes full collections.
_MEMORY = " -XX:MetaspaceSize=256m -XX:InitialRAMPercentage=6.25"
_JAVA_SETTINGS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")

TRIES = 4  # of a task, as on a cluster (spark.task.maxFailures)

# Settings for one machine, where a person waits for the result.
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.adaptive.enabled": "false",
    # Where Hadoop's native library is missing, Spark's default starts a process for every link it
    # looks at: 25 a micro-batch, a tenth of a second. Local files have no links that matter here.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    # Files here are listed in less time than a query that lists them takes to start.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # Sleeping between polls would add latency.
    "spark.sql.streaming.pollingDelay": "5ms",
}


def local_session(
    cores: int = 2, *, log: Path | None = None, ends: bool = False, **conf: str
) -> SparkSession:
    """Starts Spark on this machine.

    Args:
        cores: The number of cores.
        log: The file for Spark's output.
        ends: Whether the run ends when all input is processed.
        **conf: Overrides any setting.
    """
    os.environ.setdefault(CACHE_SETTING, str(cache_bytes()))
    settings = {
        **ENGINE,
        **LOCAL,
        **(sockets() if ends else {}),
        # A task whose worker was killed is retried, as on a cluster.
        "spark.master": f"local[{cores},{TRIES}]",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.pyspark.python": worker_python(),
        "spark.pyspark.driver.python": sys.executable,
        "spark.driver.extraJavaOptions": java_options() + archive.options(),
        **conf,
    }
    return _start(settings, log)


def java_options() -> str:
    # Java does not start with two collectors, and the environment may select one.
    is_set = any("GC" in os.environ.get(name, "") for name in _JAVA_SETTINGS)
    return _JIT + _MEMORY + ("" if is_set else _COLLECTOR)


def session(
    settings: Mapping[str, str],
    cores: int | None = None,
    log: Path | None = None,
    *,
    ends: bool = False,
) -> SparkSession:
    """Returns the session of a job: the active one, one on the cluster that is set, or a local
    one."""
    active = active_session()
    if active is not None:
        prepare(active)
        return active
    if "spark.master" in settings or os.environ.get("SPARK_ENV_LOADED"):
        check_master(settings.get("spark.master", ""))
        return _start({**ENGINE, **settings}, log)
    return local_session(cores or min(os.cpu_count() or 2, 8), log=log, ends=ends, **settings)


def _start(settings: Mapping[str, str], log: Path | None) -> SparkSession:
    check_driver()
    conf = SparkConf()
    for name, value in {"spark.app.name": "millstream", **settings}.items():
        conf.set(name, value)
    os.environ.setdefault("PYSPARK_PYTHON", worker_python())
    disable_callback_errors()
    begin = log.stat().st_size if log and log.exists() else 0
    try:
        launch(conf, log)
        spark = SparkSession.builder.config(conf=conf).getOrCreate()
    except RunError:
        raise
    except Exception as error:
        reason = decisive_line(since(log, begin)) or str(error).splitlines()[0]
        raise RunError(
            "MS-RUN-SPARK",
            f"Spark did not start: {reason}",
            fix="Check that Java 17 or newer is installed (java -version) and JAVA_HOME fits it."
            + (f" The log of Spark is {log}." if log else ""),
        ) from error
    check_jvm(spark)
    spark.sparkContext.setLogLevel(os.environ.get("MILLSTREAM_SPARK_LOG", "WARN" if log else "OFF"))
    return spark


def warm(spark: SparkSession) -> None:
    """Starts the Python workers and loads classes of Spark in the background, while the job is
    planned."""
    threading.Thread(target=_start_workers, args=(spark,), daemon=True).start()


def _start_workers(spark: SparkSession) -> None:
    def nothing(_: Iterable[int]) -> None:  # needs no imports
        pass

    def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
        return batches

    # The job needs the same workers and reports any error.
    with contextlib.suppress(Exception):
        context, count = spark.sparkContext, partitions(spark)
        # Without a query to plan, workers start half a second earlier.
        context.parallelize(range(count), count).foreachPartition(nothing)
        rows = spark.range(0, count, 1, count)
        rows.mapInArrow(unchanged, rows.schema).write.format("noop").mode("overwrite").save()
        load_state_store(spark)


def partitions(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def native_session(spark: SparkSession) -> SparkSession:
    """Returns a session for the native engine with the same rule for late rows as the columnar
    engine.

    By default, Spark compares rows with the watermark of the batch before the last one, which is
    needed only for several stateful operators; a native pipeline has one.
    """
    own = spark.newSession()
    own.conf.set("spark.sql.streaming.statefulOperator.allowMultiple", "false")
    return own
