"""Converts Spark's report of a failed query to the original error.

Errors of Millstream are in the report as JSON (see `millstream.errors`) and are decoded. Spark's
own errors, such as a lost worker, a full disk or a failed expression, are recognised by their
texts, which may change with the version of Spark.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millstream.engine.runtime.jvm import jvm_end
from millstream.engine.runtime.user_session import worker_python_error
from millstream.errors import ExpressionError, MillstreamError, RunError, StateError, decode
from millstream.sql.text import SourceText
from millstream.state_format import FORMAT_FIX

_DISK = {errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EIO}
_PROBE = 64 << 10  # bytes: a batch writes more
_PATIENCE = 5.0  # seconds for a JVM that no longer answers to end
RESTART = "Run the job again: it continues from its checkpoint and writes no row twice."

_SQLSTATE = re.compile(r" SQLSTATE: [0-9A-Z]{5}.*$")
_CAUSE = re.compile(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", re.MULTILINE)
_SPARK_CLASS = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .+")
_OTHER_FORMAT = "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE]"
# Spark reports a lost worker, or a failed connection to a worker that it starts or sends rows to.
_WORKER_LOST = re.compile(
    r"Python worker (?:exited unexpectedly|failed to connect|crashed)"
    r"|java\.(?:io|net|nio\.channels)\.\w*Exception[^\n]*\n"
    r"(?:\s+at (?:java|jdk|sun)[./][^\n]*\n)*"
    r"\s+at org\.apache\.spark\.(?:sql\.execution|api)\.python\."
)
_TRIES = re.compile(r"failed (\d+) times, most recent failure")
_NOT_WRITABLE = re.compile(
    r"No space left on device|Read-only file system|Disk quota exceeded|Not enough space"
)
# Spark's report of an expression that failed: its text, with carets under the part that did.
_CONTEXT = re.compile(r"^== SQL .*\(line 1, position (\d+)\) ==\n(.*)\n *(\^+)", re.MULTILINE)
_ANSI = re.compile(r" ?(?:If necessary,? )?[Ss]et \S*spark\.sql\.ansi\.enabled\S* to [^.]*\.")
# In a message of Spark's, the cause ends with a sentence, outside of quotes, that advice follows.
_QUOTED = r"""(?<!\w)'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
_CAUSE_BEFORE_ADVICE = re.compile(rf"(?:{_QUOTED}|.)+?[.](?= (?:Correct|Please|Set|Try|Use)\b)")


@contextmanager
def user_error(log: Path | None = None) -> Iterator[None]:
    """Converts the exception of a failed query to an error with a code."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise explained(error, log) or failure(error, log) from error


def explained(error: BaseException, log: Path | None = None) -> MillstreamError | None:
    """Returns the error to report for an exception; None if it is a defect of Millstream."""
    if isinstance(error, MillstreamError):
        return error
    lost = isinstance(error, Py4JError | ConnectionError | EOFError)
    if isinstance(error, PySparkException) or lost:
        end = jvm_end(_PATIENCE if lost else 0.0)
    else:
        end = None
    if end is not None:
        return RunError(
            "MS-RUN-JVM",
            f"Spark's JVM {end} while the job was running.",
            fix=f"Check whether it was killed, for example because memory ran out. {RESTART}"
            + _see(log),
        )
    if isinstance(error, PySparkException | Py4JError):
        return failure(error, log)
    if isinstance(error, OSError) and error.errno in _DISK:
        return not_writable(error.strerror or str(error))
    return None


def failure(error: BaseException, log: Path | None = None) -> MillstreamError:
    """Returns the error to report for the exception of a failed query."""
    if isinstance(error, MillstreamError):
        return error
    text = str(error)
    if raised := decode(text):
        return raised
    if _OTHER_FORMAT in text:
        return StateError(
            "MS-STATE-FORMAT",
            "the checkpoint stores its state in a format that this version does not read.",
            fix=FORMAT_FIX,
        )
    if found_python := worker_python_error(text):
        return found_python
    if _WORKER_LOST.search(text):
        tries = _TRIES.search(text)
        times = f", {tries[1]} times in the same task" if tries else ""
        return RunError(
            "MS-RUN-WORKER",
            f"a Python worker ended unexpectedly{times}.",
            fix=f"Check whether it was killed, for example because memory ran out. {RESTART}"
            + _see(log),
        )
    if found := _NOT_WRITABLE.search(text):
        return not_writable(found[0])
    if found := _CONTEXT.search(text):
        return _expression_error(found, text)
    whole = f"Spark's full report is in {log}." if log else ""
    return RunError("MS-RUN-FAILED", f"the streaming query failed: {_innermost(text)}", fix=whole)


def _expression_error(found: re.Match[str], text: str) -> RunError:
    """The error of an expression that failed for a value of a row."""
    lines = [line for line in text[: found.start()].splitlines() if _SPARK_CLASS.search(line)]
    message = _SPARK_CLASS.search(lines[-1])[0] if lines else "unknown cause"  # type: ignore[index]
    message = _ANSI.sub("", _SQLSTATE.sub("", message))
    sentence = _CAUSE_BEFORE_ADVICE.match(message)
    cause = sentence[0] if sentence else message
    fix = message[len(cause) :].strip()
    error = ExpressionError("MS-RUN-VALUE", f"an expression failed for a row: {cause}", fix=fix)
    error.offset, error.sql, error.length = int(found[1]) - 1, found[2], len(found[3])
    return error


def located(
    error: MillstreamError, text: SourceText | None, others: Sequence[tuple[int, int]] = ()
) -> MillstreamError:
    """An expression's error with its place in the job's text, if it is known.

    `others` are the spans of the queries that did not fail: an expression that is also written
    there is not the one that failed.
    """
    if not isinstance(error, ExpressionError) or text is None:
        return error
    found = text.origins.spans(error.sql, error.offset, error.length)
    if not found:
        return error
    own = [span for span in found if not any(first <= span[0] <= last for first, last in others)]
    spans = own or found
    places = [text.place(first) for first, _ in spans]
    cause = error.cause.replace("an expression", text.excerpt(spans[0]), 1)
    if len(places) > 1:
        also = ", ".join(str(place) for place in places[1:])
        cause = f"{cause} (The same expression is at {also}.)"
    return RunError(error.code, cause, fix=error.fix, place=places[0])


def not_writable(reason: str, folder: Path | None = None) -> RunError:
    """Returns the error for a folder that cannot be written. `folder` is it, if known."""
    where = (
        f"the checkpoint folder {folder}"
        if folder
        else "a folder of the job (its checkpoint, a sink, or Spark's temporary files)"
    )
    return RunError(
        "MS-RUN-DISK",
        f"{where} cannot be written: {reason}.",
        fix=f"Make it writable, with free space. {RESTART}",
    )


def unwritable_checkpoint(folder: Path) -> RunError | None:
    """Returns an error if the checkpoint folder cannot be written, else None."""
    probe = folder / f".probe.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(bytes(_PROBE))
    except OSError as error:
        return not_writable(error.strerror or str(error), folder)
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    return None


def _see(log: Path | None) -> str:
    return f" Spark's log is {log}." if log else ""


def _innermost(text: str) -> str:
    """Returns the innermost cause in Spark's report, in one line; one with an error class first."""
    causes = [cause.strip() for cause in _CAUSE.findall(text)]
    classed = [found[0] for cause in causes if (found := _SPARK_CLASS.search(cause))]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = (classed or causes or lines[:1] or ["no reason given"])[-1]
    return _SQLSTATE.sub("", line)[:500]
