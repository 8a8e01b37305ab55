"""Time policies as values: windows, and what becomes of late rows."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.temporal import (
    LateAction,
    LatePolicy,
    Window,
    WindowKind,
    format_span,
    parse_span,
)


def tumbling(size: str, *, offset: str = "0s") -> Window:
    """Windows of one size, one after the other, that begin at `offset` from the epoch."""
    span = parse_span(size)
    return Window(WindowKind.TUMBLING, span, span, parse_span(offset))


def sliding(size: str, slide: str, *, offset: str = "0s") -> Window:
    """Windows of `size` that begin every `slide`; a row is in size / slide of them."""
    return Window(WindowKind.SLIDING, parse_span(size), parse_span(slide), parse_span(offset))


def session(gap: str) -> Window:
    """Windows that end once no row has come for `gap` after their last."""
    return Window(WindowKind.SESSION, parse_span(gap))


def drop() -> LatePolicy:
    """Late rows are counted and left out."""
    return LatePolicy()


def reassign(budget: str) -> LatePolicy:
    """A row no later than `budget` counts as if it had come at the watermark; others are left
    out."""
    return LatePolicy(LateAction.REASSIGN, parse_span(budget))


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


def span_text(span: str) -> str:
    """A duration as properties take it."""
    return format_span(parse_span(span))
