"""Limits on the size of input, which bound the time and memory to process it.

docs/13-running-jobs.md lists them. Python's recursion limit (1,000 calls) is reached at about 25
levels of brackets, so parsing and planning run with a higher one. A text that exceeds the higher
limit is rejected.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.errors import MillstreamError

MAX_TEXT = 500_000  # characters of a job's text, its variables substituted
MAX_NESTING = 100  # levels of brackets, of CASE, and of streams that read streams
MAX_TERMS = 200  # operators in a row: a + b + c; Spark overflows its stack at about 400
MAX_DIGITS = 100  # characters of a number
MAX_NAME = 1_000  # characters of a name
MAX_COLUMNS = 10_000  # of a source, a table or a result
MAX_JOINS = 100  # in one FROM clause
MAX_BRANCHES = 100  # queries of one UNION ALL
MAX_STEPS = 500  # sources, queries, joins and operators below one query, each use counts
MAX_PANES = 100_000  # sliding windows that one row belongs to: size / slide
MAX_ROWS = 1_000_000  # n of ROWS n PRECEDING and of ROW_NUMBER() <= n
MAX_KEY_GROUPS = 32_768
MAX_YAML_CHARACTERS = 2_000_000  # of a YAML file, its aliases expanded
MAX_ROW_FILE = 100_000_000  # bytes of a CSV or JSON file of a test
MAX_SHOWN_LINE = 1_000  # characters of a line that an error shows

_RECURSION_LIMIT = 10_000
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_lock = threading.Lock()
_active_contexts = 0
_previous_limit = 0


def find_invalid_character(text: str) -> re.Match[str] | None:
    """Finds the first character that UTF-8 cannot encode, or NUL, which ends a string in C."""
    return _NOT_TEXT.search(text)


def describe_character(character: str) -> str:
    what = "NUL" if character == "\0" else "unpaired surrogate"
    return f"the character U+{ord(character):04X} ({what}) is not allowed in text"


def read_text(path: Path, limit: int) -> str:
    """Reads a text file of at most `limit` bytes. Raises ValueError with the reason, or OSError.

    The size is checked while reading, because a pipe or a device has no size.
    """
    if "\0" in str(path):
        raise ValueError("its name contains NUL")
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it is larger than {limit:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start + 1})") from None


@contextmanager
def deep_recursion(too_deep: Callable[[], MillstreamError]) -> Iterator[None]:
    """Allows deeper recursion than Python's default; beyond it, raises the error of `too_deep`."""
    global _active_contexts, _previous_limit  # noqa: PLW0603 -- the limit belongs to the interpreter
    with _lock:
        if _active_contexts == 0:
            _previous_limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_previous_limit, _RECURSION_LIMIT))
        _active_contexts += 1
    error = None
    try:
        yield
    except RecursionError:
        error = too_deep()
    finally:
        with _lock:
            _active_contexts -= 1
            if _active_contexts == 0:
                sys.setrecursionlimit(_previous_limit)
    if error is not None:
        raise error
