"""Turns what Spark reports about a failed run into an error with a code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millstream.errors import MillstreamError, ProjectRunError, decode

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] (.+)")
_STATE = re.compile(r" SQLSTATE: [0-9A-Z]{5}.*$")
_MISSING = ("FAILED_READ_FILE.FILE_NOT_EXIST", "PATH_NOT_FOUND", "FILE_NOT_EXIST")


@contextmanager
def run_errors() -> Iterator[None]:
    """Raises Spark's exceptions as errors with a code."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _error_of(error) from error


def _error_of(error: PySparkException | Py4JError) -> MillstreamError:
    text = str(error)
    if (ours := decode(text)) is not None:
        return ours
    found = list(_CLASS.finditer(text))
    reason = _STATE.sub("", found[-1][2]) if found else text.split("\n", 1)[0]
    if any(each[1] in _MISSING for each in found):
        return ProjectRunError(
            "MS-PROJECT-FILE-MISSING",
            f"a file disappeared while the run was reading it: {reason}",
            fix="Restore the file, or publish a new version and run again.",
        )
    return ProjectRunError(
        "MS-PROJECT-FAILED",
        f"Spark could not execute the run: {reason}",
        fix="Correct the data or the expression, and run again.",
    )
