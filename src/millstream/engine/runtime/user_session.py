"""Prepares a Spark session that the user created, such as `SparkSession.builder.getOrCreate()`.

Only what the user has not set is changed. What can only be set before Spark starts is an error with
the line to write.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from millstream.engine.runtime.worker_start import cache_bytes, worker_python
from millstream.errors import RunError
from millstream.kernels.state.segment_cache import CACHE_SETTING

PREPARED = "spark.millstream.prepared"
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"
_PYTHON, _DEFAULT_PYTHON = "PYSPARK_PYTHON", "python3"

# Settings of a query whose start is ours. Adaptive execution is not available to streams.
_QUERY = {
    "spark.sql.adaptive.enabled": "false",
    # Packers gather what they pack; larger batches are slower to write, and start readers later.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
}

# Warnings of every stateful query that say nothing about the job.
_NOISE = (
    "Map state .* doesn't contain key",
    "No more data to read from the socket",
    "Truncated the string representation of a plan",
    "Disabling AQE since AQE is not supported",
    "Failed to cancel job group .* Cannot find active jobs",
)


def prepare(spark: SparkSession) -> None:
    """Sets what operators need, at the first use of a session."""
    if _is_remote(spark) or spark.conf.get(PREPARED, None) is not None:
        return
    context = spark.sparkContext
    is_local = str(context.master).startswith("local")
    given = spark.conf.getAll
    wanted = {STATE_STORE: ROCKSDB, CHANGELOG: "true"}
    if is_local:
        # Spark's default is 200 partitions, each with a task in every micro-batch.
        wanted[_PARTITIONS] = str(context.defaultParallelism)
        _prepare_workers(context)
    for name, value in wanted.items():
        if name not in given:
            spark.conf.set(name, value)
    _silence(context)
    spark.conf.set(PREPARED, "true")


@contextmanager
def query_settings(spark: SparkSession) -> Iterator[None]:
    """Adds settings that a query has when it is started meanwhile, and the session has not."""
    given = spark.conf.getAll
    added = {name: value for name, value in _QUERY.items() if name not in given}
    for name, value in added.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in added:
            spark.conf.unset(name)


def check_state_store(spark: SparkSession) -> None:
    """Rejects a session that does not store state in RocksDB."""
    provider = spark.conf.get(STATE_STORE)
    if provider is None or not provider.endswith("RocksDBStateStoreProvider"):
        raise RunError(
            "MS-RUN-STATE-STORE",
            f"the Spark session stores state with {(provider or 'no known class').split('.')[-1]}, "
            "and operators of the columnar engine need RocksDB.",
            fix=f'Set it before the query: spark.conf.set("{STATE_STORE}", "{ROCKSDB}").',
        )


def _is_remote(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _prepare_workers(context: SparkContext) -> None:
    """Makes workers on this machine find Millstream, and what it needs, where the driver does."""
    if context.pythonExec not in (_DEFAULT_PYTHON, sys.executable):
        check_worker_python(context)
        return
    context.pythonExec = worker_python()
    environment: dict[str, Any] = context.environment
    environment.setdefault(CACHE_SETTING, os.environ.get(CACHE_SETTING, str(cache_bytes())))
    folder = str(Path(__file__).parents[3])  # that of the package
    if folder != sysconfig.get_paths()["purelib"]:
        paths = [folder, environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def check_worker_python(context: SparkContext) -> None:
    """Rejects a Python for workers that cannot import Millstream."""

    def probe(_: int) -> None:
        __import__("millstream")

    try:
        context.parallelize([0], 1).foreach(probe)
    except PySparkException as error:
        raise worker_python_error(str(error)) or error from error


def worker_python_error(text: str) -> RunError | None:
    """Returns the error for Spark's report of a worker whose Python does not fit; else None."""
    if "PYTHON_VERSION_MISMATCH" not in text and "No module named 'millstream" not in text:
        return None
    return RunError(
        "MS-RUN-WORKER-PYTHON",
        f"Spark's Python workers ({os.environ.get(_PYTHON, _DEFAULT_PYTHON)}) cannot import "
        "Millstream, or have another version of Python.",
        fix="Set it before the session is created: "
        f'os.environ["{_PYTHON}"] = sys.executable, or the path of such a Python on the cluster.',
    )


def _silence(context: SparkContext) -> None:
    """Stops the JVM from printing warnings that say nothing about a job."""
    assert context._jvm is not None
    log4j: Any = context._jvm.org.apache.logging.log4j
    result = log4j.core.Filter.Result
    # With another logging library there is no such configuration.
    with suppress(Py4JError, TypeError):
        loggers = log4j.LogManager.getContext(False)
        text = f"(?s).*(?:{'|'.join(_NOISE)}).*"
        rule = log4j.core.filter.RegexFilter.createFilter(
            text, None, False, result.DENY, result.NEUTRAL
        )
        rule.start()
        loggers.getConfiguration().addFilter(rule)
        loggers.updateLoggers()
