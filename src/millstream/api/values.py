"""Time policies as values: durations, windows, and what happens to late rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from millstream.errors import PropertyError
from millstream.temporal import (
    MICROS,
    Emit,
    LateAction,
    LatePolicy,
    OutputMode,
    Window,
    WindowKind,
    check_range,
    format_span,
    parse_span,
)

Duration = str | timedelta


class Unset(Enum):
    """The value of an argument that was left out, where None has a meaning."""

    UNSET = "unset"


UNSET = Unset.UNSET


def tumbling(size: Duration, *, offset: Duration = "0s") -> Window:
    """Windows of one size, one after the other.

    Args:
        size: The length of a window, such as "1 hour" or a `timedelta`.
        offset: Where windows begin, from the epoch.

    Returns:
        A window for `Stream.window` and `Stream.window_join`.

    Example:
        >>> orders.window(ms.tumbling("1 hour")).aggregate(total="sum(amount)").columns
        ['_window_start', '_window_end', 'total']
    """
    span = span_of(size)
    return Window(WindowKind.TUMBLING, span, span, span_of(offset, signed=True))


def sliding(size: Duration, slide: Duration, *, offset: Duration = "0s") -> Window:
    """Windows of one size that begin every `slide`; a row is in size / slide of them.

    Args:
        size: The length of a window, a multiple of `slide`.
        slide: The time between the starts of two windows.
        offset: Where windows begin, from the epoch.

    Returns:
        A window for `Stream.window` and `Stream.window_join`.

    Example:
        >>> print(ms.sliding("1 hour", "10 minutes"))
        windows of 1h every 10m
    """
    return Window(WindowKind.SLIDING, span_of(size), span_of(slide), span_of(offset, signed=True))


def session(gap: Duration) -> Window:
    """Windows that end once no row has come for `gap` after their last row.

    Args:
        gap: The time without rows that ends a session.

    Returns:
        A window for `Stream.window` and `Stream.window_join`.

    Example:
        >>> visits = orders.window(ms.session("30 minutes"))
        >>> visits.aggregate(by="customer_id", orders="count(*)").columns
        ['customer_id', '_window_start', '_window_end', 'orders']
    """
    return Window(WindowKind.SESSION, span_of(gap))


def drop() -> LatePolicy:
    """Late rows are counted and dropped. This is the default.

    Returns:
        A policy for the argument `late`.

    Example:
        >>> hourly = orders.window(ms.tumbling("1 hour"), late=ms.drop())
    """
    return LatePolicy()


def reassign(budget: Duration) -> LatePolicy:
    """A late row within the budget counts at the watermark; a later one is dropped.

    Args:
        budget: How late a row may be.

    Returns:
        A policy for the argument `late`.

    Example:
        >>> hourly = orders.window(ms.tumbling("1 hour"), late=ms.reassign("10 minutes"))
    """
    return LatePolicy(LateAction.REASSIGN, span_of(budget))


@dataclass(frozen=True, slots=True)
class SideOutput:
    """Late rows are an output of their own, under this name."""

    name: str


def side_output(name: str = "late") -> SideOutput:
    """Late rows are an output of their own.

    Args:
        name: The name of the output. Streams with one name share the output.

    Returns:
        A policy for the argument `late`. `Stream.write` writes such rows to the sink that its own
        argument `late` has for the name, or else to the checkpoint; `Stream.outputs` hands them to
        a function.

    Example:
        >>> hourly = orders.window(ms.tumbling("1 hour"), late=ms.side_output("too_late"))
        >>> hourly.aggregate(total="sum(amount)").outputs().names
        ('too_late',)
    """
    return SideOutput(name)


def span_of(given: object, *, signed: bool = False) -> int:
    """Returns the microseconds of a duration: a text with a unit, or a `timedelta`."""
    if isinstance(given, timedelta):
        parts = (given.days * MICROS["d"], given.seconds * MICROS["s"], given.microseconds)
        span = check_range(sum(parts), str(given))
    elif isinstance(given, str):
        span = parse_span(given)
    else:
        raise PropertyError(
            "MS-PROP-DURATION",
            f"{given!r} is not a duration.",
            fix='Write it as a text with a unit ("500ms", "5s", "10m", "24h"), or as a timedelta.',
        )
    if span < 0 and not signed:
        raise PropertyError(
            "MS-PROP-DURATION",
            f"{given!s} is negative, and time goes forward.",
            fix="Leave out the sign.",
        )
    return span


def span_text(span: Duration) -> str:
    """Returns a duration as properties have it."""
    return format_span(span_of(span))


def ttl_text(ttl: Duration | None) -> str:
    """Returns 'state.ttl' of a duration; None keeps state forever."""
    forever = ttl is None or (isinstance(ttl, str) and ttl.lower() == "forever")
    return "forever" if forever or ttl is None else span_text(ttl)


def emit_of(given: str) -> Emit:
    try:
        return Emit(given.lower())
    except (AttributeError, ValueError):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"{given!r} is not a value of `emit`.",
            fix=f"Use one of {', '.join(Emit)}.",
        ) from None


def mode_of(given: str | None) -> OutputMode | None:
    if given is None:
        return None
    try:
        return OutputMode(given.lower())
    except (AttributeError, ValueError):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"{given!r} is not an output mode.",
            fix=f"Use one of {', '.join(OutputMode)}.",
        ) from None
