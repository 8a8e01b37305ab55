"""Checks that the PySpark internals exist on which this folder relies.

Each process checks what it uses: the driver before it starts Spark, the JVM's classes once it runs,
and the workers' parent before it takes tasks. An internal that is missing or different is an error
that names it. Without the check it would be a stack trace, or a job that is slow for no visible
reason.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from millstream.errors import RunError

SUPPORTED = "4.3"


@dataclass(frozen=True, slots=True)
class Internal:
    """A module, or `name` in it: an attribute, a function with these first parameters, or an
    attribute that `__init__` assigns."""

    purpose: str
    module: str
    name: str = ""
    parameters: tuple[str, ...] = ()
    assigned: str = ""

    def __str__(self) -> str:
        return ".".join(part for part in (self.module, self.name, self.assigned) if part)

    def problem(self) -> str | None:
        """Returns what is wrong with it; None if nothing is."""
        try:
            found: Any = importlib.import_module(self.module)
            for part in filter(None, self.name.split(".")):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            return "is missing"
        if self.parameters:
            taken = tuple(inspect.signature(found).parameters)
            if taken[: len(self.parameters)] != self.parameters:
                return f"takes ({', '.join(taken)}) instead of ({', '.join(self.parameters)})"
        code = getattr(getattr(found, "__init__", None), "__code__", None)
        if self.assigned and self.assigned not in getattr(code, "co_names", ()):
            return "is missing"
        return None


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class of Spark, and the methods without parameters that are called."""

    purpose: str
    name: str
    methods: tuple[str, ...] = ()


_START = "start the JVM and know how it ended"
_ACTIVE = "find the session of this process"
_OUTPUT = "keep errors that the job reports from being printed twice"
_FILES = "read Parquet files in workers"
_FAILED = "send rows for which an expression fails to the dead letters"
_WORKERS = "start Python workers that have imported what tasks need"
_RESULTS = "return Arrow tables from workers without an object for each value"
_TYPES = "convert Spark's types to Arrow's"

DRIVER = (
    Internal(_START, "pyspark.java_gateway", "launch_gateway", ("conf", "popen_kwargs")),
    Internal(_START, "pyspark.find_spark_home", "_find_spark_home"),
    Internal(_START, "pyspark", "SparkContext._gateway"),
    Internal(_ACTIVE, "pyspark", "SparkContext._active_spark_context"),
    Internal(_ACTIVE, "pyspark.sql", "SparkSession._instantiatedSession"),
    Internal("load the state store early", "pyspark", "SparkContext._jvm"),
    Internal(_OUTPUT, "py4j.java_gateway", "null_handler"),
    Internal(_OUTPUT, "pyspark.logger", "PySparkLogger.getLogger"),
    Internal(_OUTPUT, "pyspark.accumulators", "AccumulatorTCPServer"),
    Internal(_OUTPUT, "pyspark.accumulators", "AccumulatorUnixServer"),
    Internal(_FILES, "pyspark.sql.classic.dataframe", "DataFrame", assigned="_jdf"),
    Internal(_FAILED, "pyspark.sql.classic.column", "Column"),
    Internal(_TYPES, "pyspark.sql.pandas.types", "to_arrow_schema", ("schema",)),
    Internal(_TYPES, "pyspark.sql.pandas.types", "to_arrow_type", ("dt",)),
    Internal(_TYPES, "pyspark.sql.pandas.types", "from_arrow_schema", ("arrow_schema",)),
)
WORKER = (
    Internal(_WORKERS, "pyspark.daemon", "manager"),
    Internal(_WORKERS, "pyspark.worker", "main"),
    Internal(_WORKERS, "pyspark.sql.pandas.serializers"),
    Internal(_WORKERS, "pyspark.sql.streaming.proto.StateMessage_pb2"),
    Internal(_WORKERS, "pyspark.sql.streaming.stateful_processor_api_client"),
    Internal(_WORKERS, "pyspark.sql.streaming.stateful_processor_util"),
    Internal(
        _RESULTS, "pyspark.sql.conversion", "PandasToArrowConversion.convert", ("data", "schema")
    ),
)
_STREAMING = "org.apache.spark.sql.execution.streaming"
_CHECKPOINTS = "FileSystemBasedCheckpointFileManager"
JAVA = (
    JavaClass(_FILES, f"{_STREAMING}.runtime.StreamingRelation", ("dataSource",)),
    JavaClass(
        _FILES, "org.apache.spark.sql.execution.datasources.DataSource", ("className", "options")
    ),
    JavaClass(_FAILED, "org.apache.spark.sql.classic.ExpressionUtils"),
    JavaClass(_FAILED, "org.apache.spark.sql.catalyst.expressions.TryEval"),
    JavaClass("write local checkpoints", f"{_STREAMING}.checkpointing.{_CHECKPOINTS}"),
    JavaClass("keep state", f"{_STREAMING}.state.RocksDBStateStoreProvider"),
    JavaClass("keep state", "org.rocksdb.RocksDB", ("loadLibrary",)),
)


@cache
def check_driver() -> None:
    """Rejects a PySpark without the internals that the driver uses."""
    _reject((f"{each}", problem, each.purpose) for each in DRIVER if (problem := each.problem()))


def check_gateway(gateway: object) -> None:
    """Rejects a connection to a JVM that does not have the JVM's process, or None for another's."""
    if not hasattr(gateway, "proc"):
        _reject([("proc of the gateway", "is missing", _START)])


def check_jvm(spark: SparkSession) -> None:
    """Rejects a Spark without the classes that the driver calls; once in each JVM."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return  # its JVM is remote, and nothing is called in it
    _check_classes(spark.sparkContext._gateway)


@cache
def _check_classes(gateway: Any) -> None:
    jvm = gateway.jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    none = gateway.new_array(jvm.java.lang.Class, 0)
    found: list[tuple[str, str, str]] = []
    for each in JAVA:
        name = each.name
        try:
            # Not initialised: RocksDB would load its library.
            there = jvm.java.lang.Class.forName(name, False, loader)
            for method in each.methods:
                name = f"{each.name}.{method}"
                there.getMethod(method, none)
        except Py4JError:
            found.append((name, "is missing", each.purpose))
    _reject(found)


def check_worker(keeps_memory: Callable[[], bool] | None = None) -> None:
    """Rejects a PySpark without the internals that workers use."""
    found = [(f"{each}", problem, each.purpose) for each in WORKER if (problem := each.problem())]
    if os.environ.get("SPARK_PYTHON_RUNTIME") != "PYTHON_WORKER":
        found.append(("SPARK_PYTHON_RUNTIME", "is not PYTHON_WORKER", "report errors as JSON"))
    if not found and keeps_memory is not None and not keeps_memory():
        found.append((f"{WORKER[-1]}", "copies Arrow's memory", _RESULTS))
    _reject(found)


def _reject(found: Iterable[tuple[str, str, str]]) -> None:
    found = list(found)
    if not found:
        return
    listed = "; ".join(f"{name} {problem} (used to {purpose})" for name, problem, purpose in found)
    error = RunError(
        "MS-RUN-PYSPARK",
        f"PySpark {pyspark.__version__} does not fit: {listed}.",
        fix=f"Install the version that Millstream supports: pip install 'pyspark~={SUPPORTED}.0'.",
    )
    error.annotate()  # a worker's reaches the driver through Spark
    raise error
