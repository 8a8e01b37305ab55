"""Every error a user can meet: a code, the place, the cause and the next step.

MillstreamError
├── SqlError        MS-SQL-…    the text cannot be read
├── PropertyError   MS-PROP-…   a property is unknown or has a bad value
├── PlanError       MS-PLAN-…   the text is read, but no exact or bounded job can be made of it
├── RunError        MS-RUN-…    the job was started and cannot go on
│   └── ProjectRunError  MS-PROJECT-…  a run or replay of a project failed
├── StateError      MS-STATE-…  state hit its limit, or does not fit the job
├── CatalogError    MS-CATALOG-…  a definition is wrong, or the catalog rejects a change
├── ProjectError    MS-PROJECT-…  a project is not valid, or cannot be run
└── HarnessError    MS-TEST-…   a test file is not well formed

Spark reports what a worker raises as text: the traceback, with Spark's own text around it. So an
error that leaves its process adds a line of JSON to its traceback, and `decode` finds it there:

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
# A line of its own, which Spark may indent, or the message of Spark's raise_error. Elsewhere, as in
# a plan that Spark prints, a mark stands for an error that was not raised.
_MARKED = re.compile(rf"(?:^[ \t]*|\[USER_RAISED_EXCEPTION\] ){re.escape(MARK)}", re.MULTILINE)
_CODE = re.compile(r"MS-([A-Z]+)(?:-[A-Z0-9]+)+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text something stands; line and column count from 1."""

    line: int
    column: int
    text: str = ""
    file: str | None = None

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}"
        return f"{self.file}, {where}" if self.file else where


class MillstreamError(Exception):
    """Base of all errors that are the user's to read. Never raised itself."""

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
        # A file name that is no UTF-8 has characters that cannot be written.
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def annotate(self) -> None:
        """Adds the error as JSON to its traceback, for a process that gets the traceback only."""
        note = encode(self)
        if note not in getattr(self, "__notes__", ()):
            self.add_note(note)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.cause, self.fix, self.place))

    def at(self, place: Place | None) -> Self:
        """The same error with a place, if it has none."""
        if self.place is not None or place is None:
            return self
        return type(self)(self.code, self.cause, fix=self.fix, place=place)

    def in_file(self, file: str) -> Self:
        """The same error, its place naming the file it stands in."""
        if self.place is None or self.place.file:
            return self
        return type(self)(self.code, self.cause, fix=self.fix, place=replace(self.place, file=file))

    def reworded(self, word: Callable[[str], str]) -> Self:
        """The same error, with what `word` makes of its cause and its fix."""
        return type(self)(self.code, word(self.cause), fix=word(self.fix), place=self.place)


def _rebuild(
    kind: type[MillstreamError], code: str, cause: str, fix: str, place: Place | None
) -> MillstreamError:
    return kind(code, cause, fix=fix, place=place)


class SqlError(MillstreamError):
    """The SQL text cannot be read."""


class PropertyError(MillstreamError):
    """A property is unknown, or its value is."""


class PlanError(MillstreamError):
    """The text is read, but no exact and bounded job can be made of it."""


class RunError(MillstreamError):
    """The job was started and cannot go on."""


class ExpressionError(RunError):
    """An expression failed for a value. `sql` is the text that Spark evaluated, and `offset` and
    `length` the part of it that failed."""

    sql: str = ""
    offset: int = 0
    length: int = 1


class ProjectRunError(RunError):
    """A run or replay of a project failed."""


class StateError(MillstreamError):
    """State hit its limit, or a checkpoint does not fit the job."""


class CatalogError(MillstreamError):
    """A definition of the catalog is wrong, or the catalog cannot be read or changed."""


class ProjectError(MillstreamError):
    """A project of the catalog is not valid, or cannot be run."""


class HarnessError(MillstreamError):
    """A test file is not well formed."""


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
    # Letters of any language stay readable; what ends a line or cannot be written does not.
    return MARK + "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def decode(text: str) -> MillstreamError | None:
    """Returns the error in a report of Spark, the last one if there are several; else None."""
    for found in reversed(list(_MARKED.finditer(text))):
        try:
            fields, _ = json.JSONDecoder().raw_decode(text, found.end())
            place = fields.get("place")
            code, cause, fix = fields["code"], fields["cause"], fields.get("fix", "")
            kind = _CODE.fullmatch(code)
            at = Place(**place) if place else None
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # cut off, or not ours
        if kind is not None:
            return _KINDS.get(kind[1], RunError)(code, cause, fix=fix, place=at)
    return None
