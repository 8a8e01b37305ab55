"""The file that Spark's own output goes to, and the line that says why Spark did not start."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_LARGE = 20 << 20
_CAUSE = re.compile(r"^Caused by: (.+)", re.MULTILINE)
_EXCEPTION = re.compile(r"^[\w.$]+(?:Exception|Error): .+", re.MULTILINE)
_ERROR = re.compile(
    r"^.*(?:Exception|\bError\b|\berror\b|not set|[Nn]o such file|not found|Unrecognized).*",
    re.MULTILINE,
)


@contextmanager
def opened(log: Path | None) -> Iterator[BinaryIO]:
    """The log, to append to; nowhere if there is none. A large one is put aside first."""
    if log is None:
        with Path(os.devnull).open("wb") as nowhere:
            yield nowhere
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > _LARGE:
        log.replace(log.with_name(f"{log.name}.1"))
    with log.open("ab") as out:
        yield out


def since(log: Path | None, begin: int) -> str:
    """What was written to the log from the byte `begin` on."""
    if log is None or not log.exists():
        return ""
    with log.open("rb") as written:
        written.seek(begin if begin <= log.stat().st_size else 0)
        return written.read().decode(errors="replace")


def decisive_line(text: str) -> str:
    """The innermost cause that a log names, else its first exception, error, or its last line."""
    if causes := _CAUSE.findall(text):
        return str(causes[-1]).strip()
    if error := _EXCEPTION.search(text) or _ERROR.search(text):
        return error[0].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
