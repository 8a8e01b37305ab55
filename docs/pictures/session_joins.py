"""A picture of a session join: the sessions of both sides, and when rows are emitted."""

from __future__ import annotations

from itertools import product

from docs.pictures.canvas import (
    BAD,
    BAND,
    GRID,
    HEAVY,
    LEFT,
    OUT,
    PALE,
    PALE_OUT,
    QUIET,
    RIGHT,
    Canvas,
    axis,
    clock,
)

Rows = list[tuple[str, int]]
GAP, END = 5, 32
VIEWS: Rows = [("a", 0), ("b", 4), ("c", 12), ("d", 23)]
CLICKS: Rows = [("k", 8)]


def sessions_of(rows: Rows) -> list[Rows]:
    """Groups rows that are at most the gap apart."""
    sessions: list[Rows] = []
    for row in rows:
        if sessions and row[1] - sessions[-1][-1][1] <= GAP:
            sessions[-1].append(row)
        else:
            sessions.append([row])
    return sessions


def span(session: Rows) -> tuple[int, int]:
    return session[0][1], session[-1][1] + GAP


def overlap(one: Rows, other: Rows) -> tuple[int, int] | None:
    """Returns the overlap of two sessions."""
    since, until = max(span(one)[0], span(other)[0]), min(span(one)[1], span(other)[1])
    return (since, until) if since <= until else None


def emitted_rows(*, final: bool) -> dict[int, list[tuple[str, str]]]:
    """Returns what a left join emits, by time. No row here merges sessions."""
    emitted: dict[int, list[tuple[str, str]]] = {}
    clicks = sessions_of(CLICKS)
    for view in sessions_of(VIEWS):
        overlapping = [click for click in clicks if overlap(view, click)]
        for click in overlapping:
            closed = max(span(view)[1], span(click)[1])
            for (one, t), (other, u) in product(view, click):
                time = closed if final else max(t, u)
                emitted.setdefault(time, []).append((f"{one} + {other}", OUT))
        if not overlapping:
            unmatched = [(f"{one} + NULL", BAD) for one, _ in view]
            emitted.setdefault(span(view)[1], []).extend(unmatched)
    return emitted


def session_join() -> str:
    """Draws a left join of the sessions of one customer's views and clicks."""
    canvas = Canvas(790, 402, "A left join of sessions: which overlap, and when rows are emitted")
    lanes = {"views": 60, "clicks": 126, "EMIT CHANGES": 218, "EMIT FINAL": 312}

    def x(minute: float) -> float:
        return 135 + 19.5 * minute

    axis(canvas, x, range(0, END + 1, 4), 390)
    for lane, y in lanes.items():
        canvas.path([(125, y), (x(END) + 20, y)], GRID, 2)
        canvas.text(12, y + 5, lane, anchor="start")
    canvas.text(12, lanes["views"] + 22, f"a gap of {GAP} min", QUIET, "start", 12)
    views, clicks = sessions_of(VIEWS), sessions_of(CLICKS)
    for view, click in product(views, clicks):
        if found := overlap(view, click):
            left, top = x(found[0]), lanes["views"]
            width = x(found[1]) - left
            canvas.box(left, top, width, lanes["clicks"] - top, PALE_OUT, OUT)
    for own, other_side, lane, colour in (
        (views, clicks, "views", LEFT),
        (clicks, views, "clicks", RIGHT),
    ):
        y = lanes[lane]
        for session in own:
            start, end = span(session)
            unmatched = not any(overlap(session, other) for other in other_side)
            fill, edge = (PALE, HEAVY) if unmatched else (BAND, colour)
            canvas.box(x(start) - 8, y - 14, x(end) - x(start) + 8, 28, fill, edge)
            for name, t in session:
                canvas.dot(x(t), y, colour)
                canvas.text(x(t) + 14, y + 5, name, colour)
            above = y - 20 if lane == "views" else y + 28
            label = f"[{clock(start)}, {clock(end)}]"
            canvas.text(x(start) - 6, above, label, QUIET, "start", 11)
    for lane in ("EMIT CHANGES", "EMIT FINAL"):
        y, final = lanes[lane], lane == "EMIT FINAL"
        for t, texts in emitted_rows(final=final).items():
            canvas.dot(x(t), y, texts[0][1])
            for line, (text, colour) in enumerate(texts):
                canvas.text(x(t) - 4, y + 23 + 16 * line, text, colour, "start", 12)
            if final or texts[0][1] == BAD:
                canvas.path([(x(t), y - 32), (x(t), y - 6)], HEAVY, 1, "4 4")
                canvas.text(x(t) + 5, y - 22, f"W > {clock(t)}", QUIET, "start", 11)
    return canvas.svg()
