"""The one place for Spark's settings: good defaults for a laptop and for a cluster."""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from millstream.errors import RunError
from millstream.kernels.state.cache import CACHE_SETTING
from millstream.observe.sparklog import decisive_line, opened, since
from millstream.spark import archive
from millstream.spark.error_output import disable_callback_errors
from millstream.spark.master import check_master

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS_BACKED = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

# What the engine needs or gains by, wherever it runs.
ENGINE = {
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    # A micro-batch writes what it changed, not a copy of all state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Packers gather what they pack; larger batches are slower to write, and start readers later.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.python.daemon.module": "millstream.spark.daemon",
    "spark.python.worker.reuse": "true",
    # Times in SQL texts and files without an offset are UTC on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Stateful operators leave this out of their workers' environment, and workers are shared only
    # where it is the same: with it there would be two daemons, each with all imports of its own.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # With it, PySpark tells the JVM where in our code each column is made: three calls for one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

# A third of a short run's time went into optimising code that is not hot: of 83 processor seconds
# of the interval-join benchmark, 26 were the JVM's compiler; with these 60 and 11.
_JIT = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)

# Packets are arrays of megabytes, which the JVM's default collector keeps apart from all else; and
# on few cores its threads take more than they give. A first batch took 5.4 s, now 4.7.
_COLLECTOR = " -XX:+UseParallelGC"

# Java's own are small, and a start goes through collections of everything until they have grown.
_MEMORY = " -XX:MetaspaceSize=256m -XX:InitialRAMPercentage=6.25"
_JAVA_SETTINGS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")

TRIES = 4  # of a task, as on a cluster (spark.task.maxFailures)

# One machine, a person waiting.
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
    # A polling loop that sleeps is latency a laptop need not have.
    "spark.sql.streaming.pollingDelay": "5ms",
}


def local_session(
    cores: int = 2, *, log: Path | None = None, ends: bool = False, **conf: str
) -> SparkSession:
    """A Spark on this machine; `conf` overrides any setting. Spark's own output goes to `log`.
    `ends`: it is for a run that is over when all input is taken."""
    os.environ.setdefault(CACHE_SETTING, str(_cache_bytes()))
    settings = {
        **ENGINE,
        **LOCAL,
        **(_sockets() if ends else {}),
        # A task whose worker was killed is retried, as on a cluster.
        "spark.master": f"local[{cores},{TRIES}]",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.pyspark.python": _worker_python(),
        "spark.pyspark.driver.python": sys.executable,
        "spark.driver.extraJavaOptions": java_options() + archive.options(),
        **conf,
    }
    return _start(settings, log)


def _sockets() -> dict[str, str]:
    """Sockets that are files, in a folder that no one else may open. A small micro-batch is an
    eighth faster with them; but Spark remembers the name of each, one a stateful task, until it
    ends, so they are not for a job that runs for months."""
    folder = _own_folder()
    if folder is None or len(str(folder)) > _SOCKET_FOLDER:
        return {}
    name = "spark.python.unix.domain.socket"
    return {f"{name}.enabled": "true", f"{name}.dir": str(folder)}


_SOCKET_FOLDER = 61  # the longest name that Spark takes: a socket's own is of 43 characters, or 104


def _cache_bytes() -> int:
    """For all workers together: a quarter of the machine's memory."""
    return max(psutil.virtual_memory().total // 4, 1 << 30)


def java_options() -> str:
    # Java does not start with two collectors, and one may be asked for from outside.
    asked = any("GC" in os.environ.get(name, "") for name in _JAVA_SETTINGS)
    return _JIT + _MEMORY + ("" if asked else _COLLECTOR)


def session(
    settings: Mapping[str, str],
    cores: int | None = None,
    log: Path | None = None,
    *,
    ends: bool = False,
) -> SparkSession:
    """The session a job runs in: Spark's own when submitted to a cluster, else a local one."""
    active = active_session()
    if active is not None:
        return active
    if "spark.master" in settings or os.environ.get("SPARK_ENV_LOADED"):
        check_master(settings.get("spark.master", ""))
        return _start({**ENGINE, **settings}, log)
    return local_session(cores or min(os.cpu_count() or 2, 8), log=log, ends=ends, **settings)


def active_session() -> SparkSession | None:
    """The session of this process, whichever thread started it."""
    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.getActiveSession() or SparkSession._instantiatedSession


def _start(settings: Mapping[str, str], log: Path | None) -> SparkSession:
    conf = SparkConf()
    for name, value in {"spark.app.name": "millstream", **settings}.items():
        conf.set(name, value)
    os.environ.setdefault("PYSPARK_PYTHON", _worker_python())
    disable_callback_errors()
    begin = log.stat().st_size if log and log.exists() else 0
    try:
        _launch(conf, log)
        spark = SparkSession.builder.config(conf=conf).getOrCreate()
    except Exception as error:
        told = decisive_line(since(log, begin)) or str(error).splitlines()[0]
        raise RunError(
            "MS-RUN-SPARK",
            f"Spark did not start: {told}",
            fix="Check that Java 17 or newer is installed (java -version) and JAVA_HOME fits it."
            + (f" All that Spark said is in {log}." if log else ""),
        ) from error
    spark.sparkContext.setLogLevel(os.environ.get("MILLSTREAM_SPARK_LOG", "WARN" if log else "OFF"))
    return spark


def _launch(conf: SparkConf, log: Path | None) -> None:
    """Start the JVM with its output, and that of the Python workers below it, in the log.

    Spark's launcher prints a banner and log lines before a log level can be set, and its workers
    print on; on a terminal they would stand between the job's own lines.
    """
    if SparkContext._gateway is not None:
        return
    with opened(log) as out:
        start = {"stdout": out, "stderr": out, "executable": _submit()}
        gateway = launch_gateway(conf, start)  # type: ignore[no-untyped-call]
    SparkContext(conf=conf, gateway=gateway)


@cache
def _submit() -> str | None:
    """spark-submit, for a JVM that ignores SIGTERM and SIGHUP; None: as PySpark starts it.

    Service managers, `timeout` and terminals send a signal to all processes of a job. The driver
    stops its queries; a JVM that ends by itself would make them fail first. It ends when the
    driver has ended, however that does, since its standard input is a pipe from it.
    """
    folder = _own_folder()
    if folder is None:
        return None
    script = folder / "spark-submit"
    submit = Path(_find_spark_home()) / "bin" / "spark-submit"
    lines = ("#!/bin/sh", "trap '' TERM HUP", f'exec {shlex.quote(str(submit))} "$@"')
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o700)
    return str(script)


def jvm_end(patience: float = 0.0) -> str | None:
    """How the JVM that this process started has ended; None if it still runs after `patience`."""
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is None:
        return None
    try:
        code = process.wait(patience)
    except subprocess.TimeoutExpired:
        return None
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def end(spark: SparkSession) -> None:
    """Stop Spark and wait until its JVM has ended, with all that it does then."""
    assert SparkContext._gateway is not None, "no JVM was started here"
    spark.stop()
    SparkContext._gateway.shutdown()
    end_jvm()


def end_jvm(patience: float = 60.0) -> None:
    """End the JVM, whatever it is doing, and wait until it has removed its temporary files."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return
    process.stdin.close()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    SparkContext._gateway = None


# What Spark puts on the path of its workers, before all else.
_ARCHIVES = ("pyspark[.]zip", "py4j-[^:]*-src[.]zip", "spark-core_[^:]*[.]jar")


@cache
def _worker_python() -> str:
    """This Python, for workers, without the archives that Spark puts before all else.

    Modules in a zip are compiled anew in every process: that is 1.2 of the 1.5 seconds in which a
    worker, and the driver's own, imports PySpark. And the contents of each are read anew for every
    task: 25 ms for all three. PySpark and Py4J are installed, and are the same ones.
    """
    folder = _own_folder()
    if folder is None:
        return sys.executable
    script = folder / "python"
    without = " ".join(f"-e 's#[^:]*/{name}:\\{{0,1\\}}##g'" for name in _ARCHIVES)
    lines = (
        "#!/bin/sh",
        f'PYTHONPATH=$(printf %s "$PYTHONPATH" | sed {without})',
        "export PYTHONPATH",
        f'exec {shlex.quote(sys.executable)} "$@"',
    )
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o700)
    return str(script)


@cache
def _own_folder() -> Path | None:
    """For what Spark needs of this process while it runs; None where it does without."""
    if os.name != "posix":
        return None
    folder = Path(tempfile.mkdtemp(prefix="millstream-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def warm(spark: SparkSession) -> None:
    """Have the Python workers started, and what every job needs of Spark loaded, while the plan is
    still being made."""
    threading.Thread(target=_start_workers, args=(spark,), daemon=True).start()


def _start_workers(spark: SparkSession) -> None:
    def nothing(_: Iterable[int]) -> None:  # sent as it is: nothing to import
        pass

    def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
        return batches

    # Whatever goes wrong here will be told by the job itself, which needs the same workers.
    with contextlib.suppress(Exception):
        context, count = spark.sparkContext, partitions(spark)
        # Without a query to be planned, workers start half a second earlier.
        context.parallelize(range(count), count).foreachPartition(nothing)
        rows = spark.range(0, count, 1, count)
        rows.mapInArrow(unchanged, rows.schema).write.format("noop").mode("overwrite").save()
        jvm: Any = context._jvm
        jvm.org.rocksdb.RocksDB.loadLibrary()


def partitions(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def for_native(spark: SparkSession) -> SparkSession:
    """A session for the native engine, in which a row is judged late by the same rule as in ours.

    By default Spark judges a micro-batch by the watermark of the one before the last, which is
    right only for a chain of stateful operators; a native pipeline has one.
    """
    own = spark.newSession()
    own.conf.set("spark.sql.streaming.statefulOperator.allowMultiple", "false")
    return own
