"""The errors that users see: each has a code, a position, a cause and a fix.

MillstreamError
├── SqlError        MS-SQL-…    the SQL is not valid
├── PropertyError   MS-PROP-…   a property is unknown or has an invalid value
├── PlanError       MS-PLAN-…   the SQL is valid, but no exact and bounded job follows from it
├── RunError        MS-RUN-…    the job was started and cannot continue
│   └── ProjectRunError  MS-PROJECT-…  a run or replay of a project failed
├── StateError      MS-STATE-…  state reached its limit, or a checkpoint does not fit the job
├── CatalogError    MS-CATALOG-…  a definition is wrong, or the catalog rejects a change
├── ProjectError    MS-PROJECT-…  a project is not valid, or cannot be run
└── HarnessError    MS-TEST-…   a test file is not well formed

Spark reports an error of a worker as text: the traceback inside Spark's own messages. So an error
in a worker adds a line of JSON to its traceback, which `decode` finds:

    millstream.errors.RunError: MS-RUN-FILE: a.csv is gone. Put it back.
    [MILLSTREAM-ERROR]{"code": "MS-RUN-FILE", "cause": "a.csv is gone.", "fix": "Put it back."}
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

MARK = "[MILLSTREAM-ERROR]"
# Spark sets this in the environment of its Python workers.
_WORKER = ("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")
# A separate line, which Spark may indent, or the message of Spark's raise_error. Elsewhere, such as
# in a plan that Spark prints, a mark does not belong to a raised error.
_MARKED = re.compile(rf"(?:^[ \t]*|\[USER_RAISED_EXCEPTION\] ){re.escape(MARK)}", re.MULTILINE)
_CODE = re.compile(r"MS-([A-Z]+)(?:-[A-Z0-9]+)+")


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a text; line and column start at 1."""

    line: int
    column: int
    text: str = ""
    file: str | None = None

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}"
        return f"{self.file}, {where}" if self.file else where


class MillstreamError(Exception):
    """The base class of all errors for users."""

    def __init__(self, code: str, cause: str, *, fix: str = "", place: Place | None = None) -> None:
        super().__init__(code, cause, fix, place)
        self.code = code
        self.cause = cause
        self.fix = fix
        self.place = place
        if os.environ.get(_WORKER[0]) == _WORKER[1]:
            self.annotate()

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        text = f"{self.code}{at}: {self.cause}"
        if self.fix:
            end = "" if self.cause.endswith((".", "!", "?", ":")) else "."
            text = f"{text}{end} {self.fix}"
        # A file name that is not UTF-8 has characters that cannot be printed.
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def annotate(self) -> None:
        """Adds the error as JSON to its traceback, for a process that receives only the text."""
        note = encode(self)
        if note not in getattr(self, "__notes__", ()):
            self.add_note(note)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.cause, self.fix, self.place))

    def at(self, place: Place | None) -> Self:
        """Returns the error with a position, if it has none."""
        if self.place is not None or place is None:
            return self
        return type(self)(self.code, self.cause, fix=self.fix, place=place)

    def in_file(self, file: str) -> Self:
        """Returns the error with a file name in its position."""
        if self.place is None or self.place.file:
            return self
        return type(self)(self.code, self.cause, fix=self.fix, place=replace(self.place, file=file))

    def reworded(self, word: Callable[[str], str]) -> Self:
        """Returns the error with cause and fix changed by `word`."""
        return type(self)(self.code, word(self.cause), fix=word(self.fix), place=self.place)


def _rebuild(
    kind: type[MillstreamError], code: str, cause: str, fix: str, place: Place | None
) -> MillstreamError:
    return kind(code, cause, fix=fix, place=place)


class SqlError(MillstreamError):
    """The SQL is not valid."""


class PropertyError(MillstreamError):
    """A property is unknown or has an invalid value."""


class PlanError(MillstreamError):
    """The SQL is valid, but no job with exact results and bounded state follows from it."""


class RunError(MillstreamError):
    """The job was started and cannot continue."""


class ExpressionError(RunError):
    """An expression failed for a value. `sql` is the text that Spark evaluated, and `offset` and
    `length` the part of it that failed."""

    sql: str = ""
    offset: int = 0
    length: int = 1


class ProjectRunError(RunError):
    """A run or replay of a project failed."""


class StateError(MillstreamError):
    """State reached its limit, or a checkpoint does not fit the job."""


class CatalogError(MillstreamError):
    """A definition of the catalog is wrong, or the catalog cannot be read or changed."""


class ProjectError(MillstreamError):
    """A project of the catalog is not valid, or cannot be run."""


class HarnessError(MillstreamError):
    """A test file is not valid."""


_KINDS: dict[str, type[MillstreamError]] = {
    "SQL": SqlError,
    "PROP": PropertyError,
    "PLAN": PlanError,
    "STATE": StateError,
    "CATALOG": CatalogError,
    "PROJECT": ProjectError,
    "TEST": HarnessError,
}


def encode(error: MillstreamError) -> str:
    """Returns the error as one line of JSON after a mark."""
    fields: dict[str, Any] = {"code": error.code, "cause": error.cause, "fix": error.fix}
    if error.place is not None:
        fields["place"] = asdict(error.place)
    text = json.dumps(fields, ensure_ascii=False)
    # Letters of all languages remain readable; line ends and unprintable characters are escaped.
    return MARK + "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def decode(text: str) -> MillstreamError | None:
    """Returns the last error in a report of Spark; None if there is none."""
    for found in reversed(list(_MARKED.finditer(text))):
        try:
            fields, _ = json.JSONDecoder().raw_decode(text, found.end())
            place = fields.get("place")
            code, cause, fix = fields["code"], fields["cause"], fields.get("fix", "")
            kind = _CODE.fullmatch(code)
            at = Place(**place) if place else None
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # truncated, or not an encoded error
        if kind is not None:
            return _KINDS.get(kind[1], RunError)(code, cause, fix=fix, place=at)
    return None
