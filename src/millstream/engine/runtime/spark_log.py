"""The output of Spark, PySpark and Py4J: the log file, the cause in it, and suppressed errors."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

_LARGE = 20 << 20
_CAUSE = re.compile(r"^Caused by: (.+)", re.MULTILINE)
_EXCEPTION = re.compile(r"^[\w.$]+(?:Exception|Error): .+", re.MULTILINE)
_ERROR = re.compile(
    r"^.*(?:Exception|\bError\b|\berror\b|not set|[Nn]o such file|not found|Unrecognized).*",
    re.MULTILINE,
)


@contextmanager
def opened(log: Path | None) -> Iterator[BinaryIO]:
    """Opens the log to append to it, or the null device. Rotates a large log first."""
    if log is None:
        with Path(os.devnull).open("wb") as null:
            yield null
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > _LARGE:
        log.replace(log.with_name(f"{log.name}.1"))
    with log.open("ab") as out:
        yield out


def since(log: Path | None, begin: int) -> str:
    """Returns the text of the log from the byte `begin` on."""
    if log is None or not log.exists():
        return ""
    with log.open("rb") as written:
        written.seek(begin if begin <= log.stat().st_size else 0)
        return written.read().decode(errors="replace")


def decisive_line(text: str) -> str:
    """Returns the innermost cause in a log, else its first exception, error, or its last line."""
    if causes := _CAUSE.findall(text):
        return str(causes[-1]).strip()
    if error := _EXCEPTION.search(text) or _ERROR.search(text):
        return error[0].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


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
