"""Every error a user can meet: a code, the place, the cause and the next step.

MillstreamError
├── SqlError        MS-SQL-…    the text cannot be read
├── PropertyError   MS-PROP-…   a property is unknown or has a bad value
├── PlanError       MS-PLAN-…   the text is read, but no exact or bounded job can be made of it
├── RunError        MS-RUN-…    the job was started and cannot go on
├── StateError      MS-STATE-…  state hit its limit, or does not fit the job
└── HarnessError    MS-TEST-…   a test file is not well formed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self


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

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        text = f"{self.code}{at}: {self.cause}"
        return f"{text} {self.fix}" if self.fix else text

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


class StateError(MillstreamError):
    """State hit its limit, or a checkpoint does not fit the job."""


class HarnessError(MillstreamError):
    """A test file is not well formed."""
