"""What Spark reports of a failed query, as the error it was where it happened."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from millstream.errors import MillstreamError, RunError, StateError

_OURS = re.compile(r"(MS-(RUN|STATE)-[A-Z-]+)[^:]*: (.+?)(?=\n|$|\. SQLSTATE| SQLSTATE)")


class user_error:  # noqa: N801 -- reads as a verb where it is used
    """Turns a failed query's exception into an error with a code."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PySparkException):
            raise failure(error) from error


def failure(error: BaseException) -> MillstreamError:
    text = str(error)
    if ours := _OURS.search(text):
        kind = StateError if ours[2] == "STATE" else RunError
        return kind(ours[1], ours[3].strip())
    return RunError(
        "MS-RUN-FAILED",
        f"the streaming query failed: {_first_cause(text)}",
        fix="The whole of Spark's report is in its log.",
    )


def _first_cause(text: str) -> str:
    """The innermost cause that Spark names, in one line."""
    causes = re.findall(r"(?:Caused by: |^)(?:[\w.$]+(?:Exception|Error): )(.+)", text, re.MULTILINE)
    line = causes[-1] if causes else next((line for line in text.splitlines() if line.strip()), text)
    return line.strip()[:500]
