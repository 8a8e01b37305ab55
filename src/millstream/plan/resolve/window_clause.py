"""Reads and validates the clause WINDOW TUMBLING | SLIDING | SESSION."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.reject import place_of
from millstream.plan.resolve.window_time import find_time_column
from millstream.sql.intervals import interval_micros
from millstream.sql.limits import MAX_PANES
from millstream.sql.text import SourceText
from millstream.temporal import Window, WindowKind, format_span

_ARGUMENTS = {
    WindowKind.TUMBLING: ("SIZE",),
    WindowKind.SLIDING: ("SIZE", "SLIDE"),
    WindowKind.SESSION: ("GAP",),
}
_EXAMPLES = {
    WindowKind.TUMBLING: "TUMBLING(INTERVAL '1' HOUR)",
    WindowKind.SLIDING: "SLIDING(SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '5' MINUTE)",
    WindowKind.SESSION: "SESSION(GAP INTERVAL '30' MINUTE)",
}
_WORDS = {"SIZE": "size", "SLIDE": "slide", "GAP": "gap", "OFFSET": "offset"}


def find_window_clause(tree: exp.Select, text: SourceText, *, joins: bool) -> exp.Expr | None:
    """Returns the query's WINDOW clause, after FROM or after the table.

    `joins`: the query joins streams.
    """
    of_query: exp.Expr | None = tree.args.get("stream_window")
    from_ = tree.args.get("from_")
    of_table: exp.Expr | None = from_.this.args.get("stream_window") if from_ else None
    if joins:  # a window after a table belongs to the join
        return of_query
    if of_query and of_table:
        raise PlanError(
            "MS-PLAN-WINDOW",
            "there are two WINDOW clauses.",
            fix="Remove one of them.",
            place=place_of(of_query, text),
        )
    return of_query or of_table


def read_window(clause: exp.Expr, text: SourceText) -> Window:
    kind = WindowKind(clause.args["kind"].lower())
    spans = _spans(kind, clause, text)
    place = place_of(clause, text)
    size = spans.get("SIZE", spans.get("GAP", (0, None)))
    slide, slide_place = spans.get("SLIDE", size)
    offset, offset_place = spans.get("OFFSET", (0, None))
    wall_clock = bool(clause.args.get("wall_clock"))
    if kind is WindowKind.SESSION:
        if "OFFSET" in spans:
            raise _window_error(
                "a session begins with its first row, so it has no offset.", offset_place
            )
        return Window(kind, size[0], wall_clock=wall_clock)
    if slide > size[0]:
        fix = f"Use a slide of {format_span(size[0])} or less."
        cause = f"the slide {format_span(slide)} is longer than the size {format_span(size[0])}"
        raise _window_error(f"{cause}, so rows between windows would be lost.", slide_place, fix)
    if size[0] // slide > MAX_PANES:
        cause = f"every row is in {size[0] // slide:,} windows; at most"
        fix = f"Use a slide of {format_span(-(-size[0] // MAX_PANES))} or more."
        raise _window_error(f"{cause} {MAX_PANES:,} are allowed.", slide_place, fix)
    if size[0] % slide:
        raise _indivisible_error(size[0], slide, slide_place)
    if offset < 0 or offset >= slide:
        fix = f"{format_span(offset % slide)} gives the same windows."
        limit = f"0s or more, and less than the slide {format_span(slide)}"
        raise _window_error(
            f"the offset is {format_span(offset)}; it must be {limit}.", offset_place, fix
        )
    assert place is not None
    return Window(kind, size[0], slide, offset, wall_clock)


def _indivisible_error(size: int, slide: int, place: Place | None) -> PlanError:
    """Returns an error with the nearest slide that divides the size."""
    around = [size // count for count in range(1, 2 + size // slide * 2) if size % count == 0]
    nearest = min(around, key=lambda found: abs(found - slide))
    return _window_error(
        f"the slide {format_span(slide)} does not divide the size {format_span(size)}, "
        "so windows would not consist of whole panes.",
        place,
        f"The nearest slide that does is {format_span(nearest)}.",
    )


def _spans(
    kind: WindowKind, clause: exp.Expr, text: SourceText
) -> dict[str, tuple[int, Place | None]]:
    """Returns the arguments by name; those without a name are assigned in order."""
    names = _ARGUMENTS[kind]
    spans: dict[str, tuple[int, Place | None]] = {}
    unnamed = iter(names)
    for argument in clause.expressions[1 if find_time_column(clause) else 0 :]:
        place = place_of(argument, text)
        name = argument.name or next(unnamed, "")
        if name in spans or name not in (*names, "OFFSET"):
            raise _window_error(f"{kind.upper()} has no such argument.", place, _example_fix(kind))
        micros = interval_micros(argument.expression, text)
        if micros is None:
            fix = "Use weeks, days, hours, minutes, seconds or milliseconds, written as a constant."
            raise _window_error(
                f"the {_WORDS[name]} of the window has no fixed length.", place, fix
            )
        if name != "OFFSET" and micros <= 0:
            cause = f"the {_WORDS[name]} of the window is {format_span(micros)}"
            raise _window_error(f"{cause}; it must be longer than 0s.", place, _example_fix(kind))
        spans[name] = (micros, place)
    missing = [name for name in names if name not in spans]
    if missing:
        cause = f"{kind.upper()} has no {_WORDS[missing[0]]}."
        raise _window_error(cause, place_of(clause, text), _example_fix(kind))
    return spans


def _example_fix(kind: WindowKind) -> str:
    return f"Write WINDOW {_EXAMPLES[kind]}."


def _window_error(cause: str, place: Place | None, fix: str = "") -> PlanError:
    return PlanError("MS-PLAN-WINDOW", cause, fix=fix, place=place)
