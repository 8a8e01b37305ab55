"""Time policies as values: windows, and what becomes of late rows."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import PropertyError
from millstream.temporal import (
    Emit,
    LateAction,
    LatePolicy,
    Window,
    WindowKind,
    format_span,
    parse_span,
)


def tumbling(size: str, *, offset: str = "0s") -> Window:
    """Windows of one size, one after the other, that begin at `offset` from the epoch."""
    span = span_of(size)
    return Window(WindowKind.TUMBLING, span, span, span_of(offset, signed=True))


def sliding(size: str, slide: str, *, offset: str = "0s") -> Window:
    """Windows of `size` that begin every `slide`; a row is in size / slide of them."""
    return Window(WindowKind.SLIDING, span_of(size), span_of(slide), span_of(offset, signed=True))


def session(gap: str) -> Window:
    """Windows that end once no row has come for `gap` after their last."""
    return Window(WindowKind.SESSION, span_of(gap))


def drop() -> LatePolicy:
    """Late rows are counted and left out."""
    return LatePolicy()


def reassign(budget: str) -> LatePolicy:
    """A row no later than `budget` counts as if it had come at the watermark; others are left
    out."""
    return LatePolicy(LateAction.REASSIGN, span_of(budget))


@dataclass(frozen=True, slots=True)
class SideOutput:
    """Late rows are an output of their own."""

    name: str

    @property
    def policy(self) -> LatePolicy:
        return LatePolicy(LateAction.SIDE_OUTPUT, sink=self.name)


def side_output(name: str = "late") -> SideOutput:
    """Late rows come out under this name: see `Outputs.write`."""
    return SideOutput(name)


def span_of(given: object, *, signed: bool = False) -> int:
    """Microseconds of a duration that a caller gave."""
    if not isinstance(given, str):
        raise PropertyError(
            "MS-PROP-DURATION",
            f"{given!r} is not a duration.",
            fix='Write it as a text with a unit: "500ms", "5s", "10m", "24h".',
        )
    span = parse_span(given)
    if span < 0 and not signed:
        raise PropertyError(
            "MS-PROP-DURATION",
            f"{given!r} is less than nothing, and time goes forward.",
            fix="Leave out the sign.",
        )
    return span


def span_text(span: str) -> str:
    """A duration as properties take it."""
    return format_span(span_of(span))


def emit_of(given: str) -> Emit:
    try:
        return Emit(given.lower())
    except (AttributeError, ValueError):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"{given!r} is no way to emit.",
            fix=f"Use one of {', '.join(Emit)}.",
        ) from None
