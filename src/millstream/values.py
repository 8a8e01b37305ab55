"""Value types shared by plans, kernels and executors. They depend on no other part of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from millstream.field_roles import Micros, Neither, OutputOnly
from millstream.temporal import MICROS


class JoinType(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def preserves_left(self) -> bool:
        """Whether unmatched left rows are emitted."""
        return self in (JoinType.LEFT, JoinType.FULL, JoinType.ANTI)

    @property
    def preserves_right(self) -> bool:
        return self in (JoinType.RIGHT, JoinType.FULL)

    @property
    def left_only(self) -> bool:
        """Whether the output has only the columns of the left side."""
        return self in (JoinType.SEMI, JoinType.ANTI)


class Direction(StrEnum):
    """Which version of a key matches a row.

    BACKWARD: the latest at or before it. FORWARD: the earliest at or after it. NEAREST: the nearer
    of both; the one before, if both are equally near.
    """

    BACKWARD = "backward"
    FORWARD = "forward"
    NEAREST = "nearest"


@dataclass(frozen=True, slots=True)
class Pane:
    """A time in the pane that contains another time, `after` microseconds after the start of the
    pane.

    Panes are `slide` microseconds long; one begins at `offset`.
    """

    time: str  # the name of the time's column
    slide: int
    offset: int = 0
    after: int = 0


OR_NULL = "null or "  # of operators that NULL fulfils, too


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a table's column with constants, which a database evaluates as Spark does:
    integers, strings and booleans. Broadcast tables also compare dates, written as YYYY-MM-DD, and
    accept NULL beside a comparison.

    `in` has one value or more, `null` and `not null` have none, the others have one.
    """

    column: str
    op: Literal[
        "=", "<>", "<", "<=", ">", ">=", "in", "null", "not null",
        "null or <", "null or <=", "null or >", "null or >=",
    ]  # fmt: skip
    values: tuple[int | str | bool, ...] = ()


class OnError(StrEnum):
    """What happens to a row whose lookup failed after all retries."""

    FAIL = "fail"
    NULL = "null"  # treated as a lookup without a match
    SIDE_OUTPUT = "side_output"  # written to the dead-letter queue, with the reason


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a database table is looked up."""

    cache_rows: Neither[int] = 100_000  # cached keys per worker; 0: no cache
    cache_ttl: Neither[Micros] = 60 * MICROS["s"]
    capacity: Neither[int] = 4  # concurrent queries per worker
    batch: Neither[int] = 1_000  # keys per query
    timeout: Neither[Micros] = 10 * MICROS["s"]
    retries: Neither[int] = 10
    on_error: OutputOnly[OnError] = OnError.FAIL


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a CSV sink writes values; the defaults follow RFC 4180."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'  # precedes a quote inside a quoted value
    null: str = ""  # written for NULL, without quotes; an equal string is quoted
    header: bool = True

    def field(self, text: str) -> str:
        """Returns a string as it is written in a line."""
        special = {self.delimiter, self.quote, self.escape, "\r", "\n"}
        blank_ends = text != text.strip(" \t")
        if text and text != self.null and not blank_ends and special.isdisjoint(text):
            return text
        if self.escape != self.quote:
            text = text.replace(self.escape, self.escape * 2)
        return self.quote + text.replace(self.quote, self.escape + self.quote) + self.quote
