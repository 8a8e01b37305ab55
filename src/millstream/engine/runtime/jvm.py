"""The JVM that this process starts: its launch, its end, and direct calls into it."""

from __future__ import annotations

import shlex
import signal
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import DataFrame, SparkSession

from millstream.engine.runtime.check import check_driver, check_gateway
from millstream.engine.runtime.spark_log import opened
from millstream.engine.runtime.worker_start import own_folder


def active_session() -> SparkSession | None:
    """The session of this process, whichever thread started it."""
    check_driver()
    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.getActiveSession() or SparkSession._instantiatedSession


def launch(conf: SparkConf, log: Path | None) -> None:
    """Starts the JVM. Its output, and that of its Python workers, goes to the log.

    Spark's launcher prints a banner and log lines before a log level can be set, and its workers
    print, too; on a terminal this would be mixed with the output of the job.
    """
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    with opened(log) as out:
        start = {"stdout": out, "stderr": out, "executable": _submit()}
        gateway = launch_gateway(conf, start)  # type: ignore[no-untyped-call]
    check_gateway(gateway)
    SparkContext(conf=conf, gateway=gateway)


@cache
def _submit() -> str | None:
    """spark-submit, for a JVM that ignores SIGTERM and SIGHUP; None: as PySpark starts it.

    Service managers, `timeout` and terminals send a signal to all processes of a job. The driver
    stops its queries; a JVM that ends by itself would make them fail first. It ends when the
    driver has ended, however that does, since its standard input is a pipe from it.
    """
    from pyspark.find_spark_home import _find_spark_home

    folder = own_folder()
    if folder is None:
        return None
    script = folder / "spark-submit"
    submit = Path(_find_spark_home()) / "bin" / "spark-submit"
    lines = ("#!/bin/sh", "trap '' TERM HUP", f'exec {shlex.quote(str(submit))} "$@"')
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o700)
    return str(script)


def jvm_end(patience: float = 0.0) -> str | None:
    """Returns how the JVM of this process has ended; None if it still runs after `patience`
    seconds."""
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
    """Stops Spark and waits until its JVM has ended."""
    assert SparkContext._gateway is not None, "no JVM was started here"
    spark.stop()
    SparkContext._gateway.shutdown()
    end_jvm()


def end_jvm(patience: float = 60.0) -> None:
    """Ends the JVM and waits until it has removed its temporary files."""
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


def load_state_store(spark: SparkSession) -> None:
    """Loads RocksDB's library, which the first stateful micro-batch would wait for."""
    jvm: Any = spark.sparkContext._jvm
    jvm.org.rocksdb.RocksDB.loadLibrary()


def heap_in_use(spark: SparkSession) -> int:
    """Collects garbage in the JVM and returns the bytes of its heap that are in use."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def parquet_options(frame: DataFrame) -> dict[str, str] | None:
    """Returns the read options of a streaming DataFrame that only reads Parquet files, else
    None."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):  # it has no access to plans
        return None
    jvm_frame: Any = frame._jdf
    plan = jvm_frame.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != "StreamingRelation":
        return None
    source = plan.dataSource()
    if source.className() != "parquet":
        return None
    options, entries = {}, source.options().iterator()
    while entries.hasNext():
        entry = entries.next()
        options[entry.productElement(0)] = entry.productElement(1)
    return options
