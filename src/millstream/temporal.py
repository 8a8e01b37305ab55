"""Time policies as values. All times and durations are integers in microseconds, as in Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from millstream.errors import PropertyError
from millstream.field_roles import Micros, OutputOnly

MICROS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_UNITS = {
    "us": ("us", "microsecond", "microseconds"),
    "ms": ("ms", "millisecond", "milliseconds", "msec"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hour", "hours"),
    "d": ("d", "day", "days"),
    "w": ("w", "week", "weeks"),
}
_MICROS_BY_NAME = {
    name: MICROS["d"] * 7 if unit == "w" else MICROS[unit]
    for unit, names in _UNITS.items()
    for name in names
}
_SIGN = re.compile(r"\s*([+-]?)")
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)")
_SIGNED_PART = re.compile(r"\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)")

BEGIN_OF_TIME = -(2**62)
END_OF_TIME = 2**62
DEFAULT_MAX_AHEAD = MICROS["d"]  # of a row's event time relative to processing time
# The longest duration. The sum of a thousand of them and any event time fits 64 bits.
MAX_SPAN = 36_500 * MICROS["d"]
MAX_SPAN_TEXT = "36500d (100 years)"
_MOST_DIGITS = 24  # of a number in that range, including its fraction


class DurationRangeError(PropertyError):
    """A duration exceeds the supported range."""

    @classmethod
    def of(cls, text: str) -> DurationRangeError:
        shown = text if len(text) <= 40 else f"{text[:37]}…"
        return cls(
            "MS-PROP-DURATION",
            f"the duration {shown!r} is out of range.",
            fix=f"The longest is {MAX_SPAN_TEXT}, positive or negative.",
        )


def check_range(micros: int, text: str) -> int:
    """Returns a duration that was written as `text`, or raises an error if it is out of range."""
    if abs(micros) > MAX_SPAN:
        raise DurationRangeError.of(text)
    return micros


def has_too_many_digits(number: str) -> bool:
    """Returns whether a number is certainly out of range. Python rejects numbers with thousands of
    digits."""
    return len(number) > _MOST_DIGITS


def unit_micros(unit: str) -> int | None:
    """Returns the microseconds of a unit such as "HOUR" or "ms"; None if its length varies
    (MONTH)."""
    return _MICROS_BY_NAME.get(unit.lower())


def parse_span(text: str, *, signed_parts: bool = False) -> int:
    """Returns the microseconds of a text such as "5s", "24h", "1h 30m" or "-5 minutes".

    A sign applies to the whole duration, as `format_span` writes it: "-1h 30m" is less than "-1h".
    With `signed_parts`, as in SQL intervals, each part has its own sign: "-1h 30m" is half an hour
    less.
    """
    sign, at, part = 1, 0, _SIGNED_PART
    if not signed_parts and (lead := _SIGN.match(text)):
        sign, at, part = (-1 if lead[1] == "-" else 1), lead.end(), _PART
    total, found = 0, False
    while match := part.match(text, at):
        micros = unit_micros(match[2])
        if micros is None:
            break
        number = match[1]
        if has_too_many_digits(number):
            raise DurationRangeError.of(text)
        span = float(number) * micros if "." in number else int(number) * micros
        total, at, found = total + round(span), match.end(), True
    if not found or text[at:].strip():
        raise PropertyError(
            "MS-PROP-DURATION",
            f"{text!r} is not a duration.",
            fix="Write a number and a unit: 500ms, 5s, 10m, 24h, 7d.",
        )
    return check_range(sign * total, text)


def format_span(micros: int) -> str:
    """Returns the shortest exact text: 90_000_000 is "1m 30s"; zero is "0s"."""
    if micros == 0:
        return "0s"
    sign, rest, parts = ("-" if micros < 0 else ""), abs(micros), []
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count, rest = divmod(rest, MICROS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return sign + " ".join(parts)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of `right.time - left.time`, both inclusive."""

    lower: Micros
    upper: Micros

    @property
    def empty(self) -> bool:
        return self.lower > self.upper

    def __str__(self) -> str:
        return f"[{format_span(self.lower)}, {format_span(self.upper)}]"


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark: after a row at time t, no row older than t - delay is expected."""

    column: str
    delay: OutputOnly[Micros] = 0  # a watermark never decreases, so a longer one takes effect later
    every: OutputOnly[int] = 1  # it advances after this number of rows


class WindowKind(StrEnum):
    TUMBLING = "tumbling"
    SLIDING = "sliding"
    SESSION = "session"
    INHERITED = "inherited"  # rows inherit their window: they are results of a windowed query


@dataclass(frozen=True, slots=True)
class Window:
    """Time windows.

    Windows of fixed size begin at `offset` from the epoch and every `slide` after it. A session
    ends when no row has arrived for `size` after its last one.
    """

    kind: WindowKind
    size: Micros = 0
    slide: Micros = 0  # for a tumbling window: its size
    offset: Micros = 0
    wall_clock: bool = False  # by processing time, not by event time

    def __str__(self) -> str:
        match self.kind:
            case WindowKind.TUMBLING:
                text = f"tumbling windows of {format_span(self.size)}"
            case WindowKind.SLIDING:
                text = f"windows of {format_span(self.size)} every {format_span(self.slide)}"
            case WindowKind.SESSION:
                text = f"sessions with a gap of {format_span(self.size)}"
            case WindowKind.INHERITED:
                text = "windows of the query below"
        return text + (f", offset {format_span(self.offset)}" if self.offset else "")


CHANGE_KIND = "_OP"  # the column of changes: how a row changes the result
CHANGE_KINDS = ("+I", "-U", "+U", "-D")  # as numbers, from 0 on


class OutputMode(StrEnum):
    """How a changing result is written. `upsert` omits the old row of an update."""

    APPEND = "append"
    UPSERT = "upsert"
    RETRACT = "retract"


class MissingTime(StrEnum):
    """What happens to a row without an event time."""

    ERROR = "error"
    SKIP = "skip"
    WALL_CLOCK = "wall_clock"


class MalformedAction(StrEnum):
    """What happens to a record that does not fit its source's schema."""

    DEAD_LETTER = "dead_letter"
    FAIL = "fail"


class ErrorAction(StrEnum):
    """What happens to a row for which an expression fails."""

    FAIL = "fail"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """What a query does with rows for which an expression fails. `sink` is their dead-letter sink;
    None: that of their source."""

    action: ErrorAction = ErrorAction.FAIL
    sink: str | None = None

    @property
    def diverts(self) -> bool:
        """Whether such rows go to a dead-letter queue."""
        return self.action is ErrorAction.DEAD_LETTER


class LateAction(StrEnum):
    DROP = "drop"
    REASSIGN = "reassign"
    SIDE_OUTPUT = "side_output"


@dataclass(frozen=True, slots=True)
class LatePolicy:
    """What happens to a row older than the watermark. `sink` is the name of the side output."""

    action: LateAction = LateAction.DROP
    budget: Micros = 0
    sink: str | None = None


class Emit(StrEnum):
    CHANGES = "changes"
    FINAL = "final"


class OnLimit(StrEnum):
    """What happens when state exceeds its limit: an error, or eviction of the oldest rows, which
    are counted."""

    FAIL = "fail"
    EVICT = "evict"


@dataclass(frozen=True, slots=True)
class StateLimit:
    """Limits of one operator's state; None means no limit."""

    max_rows: int | None = None
    max_bytes: int | None = None
    on_limit: OnLimit = OnLimit.FAIL
