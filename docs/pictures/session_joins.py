"""A picture of a session join: sessions a side, which of them meet, and when rows come out."""

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
    """Rows that lie no more than the gap apart."""
    made: list[Rows] = []
    for row in rows:
        if made and row[1] - made[-1][-1][1] <= GAP:
            made[-1].append(row)
        else:
            made.append([row])
    return made


def span(session: Rows) -> tuple[int, int]:
    return session[0][1], session[-1][1] + GAP


def shared(one: Rows, other: Rows) -> tuple[int, int] | None:
    """From the first moment that both have to the last."""
    since, until = max(span(one)[0], span(other)[0]), min(span(one)[1], span(other)[1])
    return (since, until) if since <= until else None


def told(*, final: bool) -> dict[int, list[tuple[str, str]]]:
    """What a left join tells, by time. No row here makes one session of two."""
    moments: dict[int, list[tuple[str, str]]] = {}
    clicks = sessions_of(CLICKS)
    for view in sessions_of(VIEWS):
        met = [click for click in clicks if shared(view, click)]
        for click in met:
            closed = max(span(view)[1], span(click)[1])
            for (one, t), (other, u) in product(view, click):
                moment = closed if final else max(t, u)
                moments.setdefault(moment, []).append((f"{one} + {other}", OUT))
        if not met:
            alone = [(f"{one} + NULL", BAD) for one, _ in view]
            moments.setdefault(span(view)[1], []).extend(alone)
    return moments


def session_join() -> str:
    """Views and clicks of one customer: a left join of their sessions."""
    canvas = Canvas(790, 402, "A left join of sessions: which meet, when their rows come out")
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
        if found := shared(view, click):
            left, top = x(found[0]), lanes["views"]
            width = x(found[1]) - left
            canvas.box(left, top, width, lanes["clicks"] - top, PALE_OUT, OUT)
    for mine, theirs, lane, colour in (
        (views, clicks, "views", LEFT),
        (clicks, views, "clicks", RIGHT),
    ):
        y = lanes[lane]
        for session in mine:
            start, end = span(session)
            alone = not any(shared(session, other) for other in theirs)
            fill, edge = (PALE, HEAVY) if alone else (BAND, colour)
            canvas.box(x(start) - 8, y - 14, x(end) - x(start) + 8, 28, fill, edge)
            for name, t in session:
                canvas.dot(x(t), y, colour)
                canvas.text(x(t) + 14, y + 5, name, colour)
            above = y - 20 if lane == "views" else y + 28
            says = f"[{clock(start)}, {clock(end)}]"
            canvas.text(x(start) - 6, above, says, QUIET, "start", 11)
    for lane in ("EMIT CHANGES", "EMIT FINAL"):
        y, final = lanes[lane], lane == "EMIT FINAL"
        for t, texts in told(final=final).items():
            canvas.dot(x(t), y, texts[0][1])
            for line, (text, colour) in enumerate(texts):
                canvas.text(x(t) - 4, y + 23 + 16 * line, text, colour, "start", 12)
            if final or texts[0][1] == BAD:
                canvas.path([(x(t), y - 32), (x(t), y - 6)], HEAVY, 1, "4 4")
                canvas.text(x(t) + 5, y - 22, f"W > {clock(t)}", QUIET, "start", 11)
    return canvas.svg()
