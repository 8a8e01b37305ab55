"""Keeps PySpark and Py4J from printing errors to stderr that the job itself reports."""

from __future__ import annotations

import logging
from typing import Any


def disable_callback_errors() -> None:
    """Stops Py4J and PySpark from printing an error of a micro-batch: the query reports it."""
    # Imported after `check_driver`, which reports what is missing.
    from py4j.java_gateway import null_handler
    from pyspark import accumulators
    from pyspark.logger import PySparkLogger

    py4j = logging.getLogger("py4j")
    # Py4J's own handler writes nothing, but is not a `logging.NullHandler`. Once Py4J has reported
    # a lost connection to the root logger, the root logger has a handler and prints every record.
    if all(each is null_handler for each in py4j.handlers):
        py4j.propagate = False
    root = logging.getLogger()
    if _not_of_py4j not in root.filters:
        root.addFilter(_not_of_py4j)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    # The connection for accumulators breaks when the JVM is killed.
    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = _nothing  # type: ignore[method-assign,assignment]


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Py4J reports a lost connection to the root logger, besides raising it."""
    return "py4j" not in record.pathname


def _nothing(*_: Any) -> None: ...
