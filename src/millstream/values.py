"""Value types that plans, kernels and executors share. They depend on no other part of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Literal, TypeVar

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
        """Do left rows come out without a partner?"""
        return self in (JoinType.LEFT, JoinType.FULL, JoinType.ANTI)

    @property
    def preserves_right(self) -> bool:
        return self in (JoinType.RIGHT, JoinType.FULL)

    @property
    def left_only(self) -> bool:
        """Are the output's columns those of the left side alone?"""
        return self in (JoinType.SEMI, JoinType.ANTI)


class Direction(StrEnum):
    """Which version of a key a row meets: the latest at or before it, the earliest at or after it,
    or the nearer of both (the one before, if both are as near)."""

    BACKWARD = "backward"
    FORWARD = "forward"
    NEAREST = "nearest"


OperandT = TypeVar("OperandT")  # an expression in a plan, the name of a column in a kernel


@dataclass(frozen=True, slots=True)
class Pane:
    """A moment of the pane that a time is in, `after` microseconds after the pane's begin. Panes
    are `slide` microseconds long; one begins at `offset`."""

    time: str  # the name of the time's column
    slide: int
    offset: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Compare(Generic[OperandT]):
    """A comparison across the sides. NULL as in SQL."""

    left: OperandT
    op: Literal["=", "<>", "<", "<=", ">", ">="]
    right: OperandT


@dataclass(frozen=True, slots=True)
class Logic(Generic[OperandT]):
    """AND / OR / NOT of comparisons, in SQL's three-valued logic."""

    op: Literal["and", "or", "not"]
    terms: tuple[PredicateOf[OperandT], ...]


PredicateOf = Compare[OperandT] | Logic[OperandT]
Predicate = PredicateOf[str]


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a table's column with constants, which a database can decide as Spark does:
    whole numbers, texts and booleans. `in` has one value or more, the others one; `null` and
    `not null` none."""

    column: str
    op: Literal["=", "<>", "<", "<=", ">", ">=", "in", "null", "not null"]
    values: tuple[int | str | bool, ...] = ()


class OnError(StrEnum):
    """What becomes of a row whose table cannot be asked, all retries made."""

    FAIL = "fail"
    NULL = "null"  # it goes on as if it had found nothing
    SIDE_OUTPUT = "side_output"  # to the dead letters, with the reason


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a database is asked."""

    cache_rows: Neither[int] = 100_000  # keys a worker remembers; 0: none
    cache_ttl: Neither[Micros] = 60 * MICROS["s"]
    capacity: Neither[int] = 4  # questions in flight, a worker
    batch: Neither[int] = 1_000  # keys a question
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
