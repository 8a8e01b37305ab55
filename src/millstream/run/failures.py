"""What Spark reports of a failed query, as the error it was where it happened.

An error of ours that is raised in a worker reaches the driver as text only: `CODE: cause fix`, at
the end of a worker's traceback or inside Spark's own brackets. Everything around it is Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException

from millstream.errors import MillstreamError, RunError, StateError

_CODE = r"(MS-(RUN|STATE|LOOKUP)-[A-Z]+(?:-[A-Z]+)*)"
# The last line of a Python traceback, or the message of Spark's raise_error.
_RAISED = re.compile(
    rf"^(?:millstream\.errors\.\w+: |.*\[USER_RAISED_EXCEPTION\] ){_CODE}(?: at [^:\n]*)?: (.+)$",
    re.MULTILINE,
)
_SQLSTATE = re.compile(r" SQLSTATE: [0-9A-Z]{5}.*$")
_CAUSE = re.compile(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", re.MULTILINE)
_SPARK_CLASS = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .+")
_OTHER_FORM = "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE]"
# A cause ends where a sentence, outside of quotes, is followed by one that tells what to do.
_QUOTED = r"""(?<!\w)'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
_DO = (
    "Add|CAST|Cast|Check|Compare|Declare|Give|Have|Leave|Make|Mend|Raise|Remove|Set|Start|Take|Try|"
    "Use|Write"
)
_SENTENCE = re.compile(rf"(?:{_QUOTED}|.)+?[.](?= (?:{_DO})\b)")


@contextmanager
def user_error(log: Path | None = None) -> Iterator[None]:
    """Turns a failed query's exception into an error with a code."""
    try:
        yield
    except PySparkException as error:
        raise failure(error, log) from error


def failure(error: BaseException, log: Path | None = None) -> MillstreamError:
    """The error with a code that an exception stands for."""
    if isinstance(error, MillstreamError):
        return error
    text = str(error)
    if raised := _RAISED.findall(text):
        code, family, told = raised[-1]
        cause, fix = _split(_SQLSTATE.sub("", told).strip())
        return (StateError if family == "STATE" else RunError)(code, cause, fix=fix)
    if _OTHER_FORM in text:
        return StateError(
            "MS-STATE-FORMAT",
            "the checkpoint keeps its state in a form that this version does not read.",
            fix="Run the job with the version that wrote its checkpoint, or start a new one.",
        )
    whole = f"The whole of Spark's report is in {log}." if log else ""
    return RunError("MS-RUN-FAILED", f"the streaming query failed: {_innermost(text)}", fix=whole)


def _split(told: str) -> tuple[str, str]:
    """The cause, and the fix that follows it."""
    sentence = _SENTENCE.match(told)
    if sentence is None:
        return told, ""
    return sentence[0], told[sentence.end() :].strip()


def _innermost(text: str) -> str:
    """The innermost cause that Spark names, in one line; one with an error class goes first."""
    causes = [cause.strip() for cause in _CAUSE.findall(text)]
    classed = [found[0] for cause in causes if (found := _SPARK_CLASS.search(cause))]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = (classed or causes or lines[:1] or ["it gave no reason"])[-1]
    return _SQLSTATE.sub("", line)[:500]
