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
    QUIET,
    RIGHT,
    Canvas,
    axis,
    clock,
)

Session = list[int]
GAP, END = 5, 31
VIEWS, CLICKS = [0, 4, 12, 24], [8]


def sessions_of(times: list[int]) -> list[Session]:
    """Rows that lie no more than the gap apart."""
    made: list[Session] = []
    for t in times:
        if made and t - made[-1][-1] <= GAP:
            made[-1].append(t)
        else:
            made.append([t])
    return made


def meet(one: Session, other: Session) -> bool:
    """Do [first, last + gap] of both share a moment?"""
    return one[0] <= other[-1] + GAP and other[0] <= one[-1] + GAP


def told(*, final: bool) -> dict[int, list[tuple[str, str]]]:
    """What a left join tells, by time."""
    moments: dict[int, list[tuple[str, str]]] = {}
    clicks = sessions_of(CLICKS)
    for view in sessions_of(VIEWS):
        met = [click for click in clicks if meet(view, click)]
        for click in met:
            both_closed = max(view[-1], click[-1]) + GAP
            for one, other in product(view, click):
                moment = both_closed if final else max(other, min(t for t in view if t >= one))
                moments.setdefault(moment, []).append((f"{clock(one)} + {clock(other)}", OUT))
        if not met:
            alone = [(f"{clock(one)} + NULL", BAD) for one in view]
            moments.setdefault(view[-1] + GAP, []).extend(alone)
    return moments


def session_join() -> str:
    """Views and clicks of one customer: a left join of their sessions."""
    canvas = Canvas(790, 392, "A left join of sessions: which meet, when their rows come out")
    lanes = {"views": 62, "clicks": 132, "EMIT CHANGES": 222, "EMIT FINAL": 304}

    def x(minute: float) -> float:
        return 135 + 20 * minute

    axis(canvas, x, range(0, END, 4), 380)
    for lane, y in lanes.items():
        canvas.path([(125, y), (x(END) + 15, y)], GRID, 2)
        canvas.text(12, y + 5, lane, anchor="start")
    canvas.text(12, lanes["views"] + 22, f"a gap of {GAP} min", QUIET, "start", 12)
    views, clicks = sessions_of(VIEWS), sessions_of(CLICKS)
    for mine, theirs, lane, colour in (
        (views, clicks, "views", LEFT),
        (clicks, views, "clicks", RIGHT),
    ):
        y = lanes[lane]
        for session in mine:
            start, end = session[0], session[-1] + GAP
            alone = not any(meet(session, other) for other in theirs)
            fill, edge = (PALE, HEAVY) if alone else (BAND, colour)
            canvas.box(x(start) - 8, y - 14, x(end) - x(start) + 8, 28, fill, edge)
            for t in session:
                canvas.dot(x(t), y, colour, hollow=alone)
            says = f"[{clock(start)}, {clock(end)}]"
            canvas.text(x(start) - 6, y - 20, says, QUIET, "start", 11)
    for view, click in product(views, clicks):
        if meet(view, click):
            since = max(view[0], click[0])
            until = min(view[-1], click[-1]) + GAP
            top, bottom = lanes["views"] + 14, lanes["clicks"] - 14
            canvas.box(x(since), top, x(until) - x(since), bottom - top, OUT)
    for lane in ("EMIT CHANGES", "EMIT FINAL"):
        y, final = lanes[lane], lane == "EMIT FINAL"
        for t, texts in told(final=final).items():
            canvas.dot(x(t), y, texts[0][1])
            for line, (text, colour) in enumerate(texts):
                canvas.text(x(t) - 4, y + 22 + 16 * line, text, colour, "start", 12)
            if final or texts[0][1] == BAD:
                canvas.text(x(t) - 4, y - 13, f"W passes {clock(t)}", QUIET, "start", 11)
    return canvas.svg()
