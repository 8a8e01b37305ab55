"""The one place for Spark's settings: good defaults for a laptop and for a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from millstream.errors import RunError

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS_BACKED = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

# What the engine needs or gains by, wherever it runs.
ENGINE = {
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    # A micro-batch writes what it changed, not a copy of all state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A packet is cut from an Arrow batch: large ones mean few packets.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500000",
    "spark.python.daemon.module": "millstream.spark.daemon",
    "spark.python.worker.reuse": "true",
    # Times in SQL texts and files without an offset are UTC on every machine.
    "spark.sql.session.timeZone": "UTC",
    # A user's mistake in an expression is shown as one, without the frames of the worker.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
}

# One machine, a person waiting.
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.adaptive.enabled": "false",
    # A polling loop that sleeps is latency a laptop need not have.
    "spark.sql.streaming.pollingDelay": "5ms",
}


def local_session(cores: int = 2, **conf: str) -> SparkSession:
    """A Spark on this machine; `conf` overrides any setting."""
    settings = {
        **ENGINE,
        **LOCAL,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        **conf,
    }
    return _start(SparkSession.builder.master(f"local[{cores}]").appName("millstream"), settings)


def session(settings: Mapping[str, str], cores: int | None = None) -> SparkSession:
    """The session a job runs in: Spark's own when submitted to a cluster, else a local one."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "spark.master" in settings or os.environ.get("SPARK_ENV_LOADED"):
        return _start(SparkSession.builder.appName("millstream"), {**ENGINE, **settings})
    return local_session(cores or min(os.cpu_count() or 2, 8), **settings)


def _start(builder: SparkSession.Builder, settings: Mapping[str, str]) -> SparkSession:
    for name, value in settings.items():
        builder = builder.config(name, value)
    # Spark's launcher prints its own banner and log lines before a log level can be set.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        raise RunError(
            "MS-RUN-SPARK",
            f"Spark did not start: {str(error).splitlines()[0]}",
            fix="Check that Java 17 or newer is installed (java -version) and JAVA_HOME fits it.",
        ) from error
    spark.sparkContext.setLogLevel(os.environ.get("MILLSTREAM_SPARK_LOG", "OFF"))
    return spark


def partitions(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def for_native(spark: SparkSession) -> SparkSession:
    """A session for the native engine, in which a row is judged late by the same rule as in ours.

    By default Spark judges a micro-batch by the watermark of the one before the last, which is right
    only for a chain of stateful operators; a native pipeline has one.
    """
    own = spark.newSession()
    own.conf.set("spark.sql.streaming.statefulOperator.allowMultiple", "false")
    return own
