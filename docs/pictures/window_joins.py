"""Pictures of window joins: the windows of rows, and when matches are emitted."""

from __future__ import annotations

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


def windows_of(t: int, size: int, slide: int) -> list[int]:
    """Returns the starts of the windows of a time."""
    last = t // slide * slide
    return [start for start in range(last - size + slide, last + 1, slide) if start <= t]


VIEWS: Rows = [("A", 2), ("B", 4), ("C", 9), ("D", 15)]
CLICKS: Rows = [("A", 7), ("C", 11), ("D", 13)]


def matching_clicks(key: str, t: int, size: int) -> list[int]:
    """Returns the clicks that match a view in its tumbling window."""
    return [at for other, at in CLICKS if other == key and at // size == t // size]


def emitted_rows(size: int, *, final: bool) -> dict[int, list[tuple[str, str]]]:
    """Returns what a left join of views and clicks emits, by time."""
    emitted: dict[int, list[tuple[str, str]]] = {}
    for key, t in VIEWS:
        closes, matches = t - t % size + size, matching_clicks(key, t, size)
        for at in matches:
            time = closes if final else max(t, at)
            emitted.setdefault(time, []).append((f"{key} + click", OUT))
        if not matches:
            emitted.setdefault(closes, []).append((f"{key} + NULL", BAD))
    return emitted


def window_join() -> str:
    """Draws a left join in tumbling windows with both kinds of EMIT."""
    size, end = 10, 24
    canvas = Canvas(790, 410, "A left join in tumbling windows: matches, and when they are emitted")
    lanes = {"views": 78, "clicks": 138, "EMIT CHANGES": 230, "EMIT FINAL": 318}

    def x(minute: float) -> float:
        return 135 + 26 * minute

    axis(canvas, x, range(0, end + 1, 4), 398, 40)
    for start in range(0, end, size):
        until = min(start + size, end + 0.8)
        canvas.box(x(start) + 2, 38, x(until) - x(start) - 4, 126, BAND, LEFT)
        label = f"[{clock(start)}, {clock(start + size)})"
        canvas.text(x(start) + 4, 30, label, QUIET, "start", 12)
    for lane, y in lanes.items():
        canvas.path([(125, y), (x(end) + 20, y)], GRID, 2)
        canvas.text(12, y + 5, lane, anchor="start")
    for start in range(size, end, size):
        canvas.path([(x(start), 168), (x(start), 372)], HEAVY, 1, "4 4")
        canvas.text(x(start) + 6, 196, f"W reaches {clock(start)}", QUIET, "start", 12)
    for key, t in VIEWS:
        for at in matching_clicks(key, t, size):
            canvas.path([(x(t), lanes["views"]), (x(at), lanes["clicks"])], OUT, 1.5)
    for rows, lane, colour, shift in ((VIEWS, "views", LEFT, -13), (CLICKS, "clicks", RIGHT, 22)):
        for key, t in rows:
            canvas.dot(x(t), lanes[lane], colour)
            canvas.text(x(t), lanes[lane] + shift, key, colour)
    for lane in ("EMIT CHANGES", "EMIT FINAL"):
        for t, texts in emitted_rows(size, final=lane == "EMIT FINAL").items():
            canvas.dot(x(t), lanes[lane], texts[0][1])
            for line, (text, colour) in enumerate(texts):
                canvas.text(x(t) + 9, lanes[lane] + 20 + 16 * line, text, colour, "start", 12)
    return canvas.svg()


def sliding_join() -> str:
    """Draws a view and three clicks in sliding windows: a match for each common window."""
    size, slide, view = 10, 5, 12
    clicks = [14, 17, 20]
    canvas = Canvas(790, 268, "Sliding windows: a match for each window that contains both rows")

    def x(minute: float) -> float:
        return 20 * minute - 10

    axis(canvas, x, range(5, 31, 5), 256, 66)
    canvas.path([(80, 52), (x(30), 52)], GRID, 2)
    for t, colour in [(view, LEFT), *((t, RIGHT) for t in clicks)]:
        canvas.text(x(t), 34, clock(t), colour)
        canvas.dot(x(t), 52, colour)
    canvas.text(12, 30, "a view,", LEFT, "start")
    canvas.text(12, 47, "clicks", RIGHT, "start")
    starts = sorted({s for t in [view, *clicks] for s in windows_of(t, size, slide)})
    for i, start in enumerate(starts):
        y = 76 + 38 * i
        pairs = [t for t in clicks if {view, t} <= set(range(start, start + size))]
        canvas.box(
            x(start) + 1, y, 20 * size - 2, 26, *((PALE_OUT, OUT) if pairs else (PALE, HEAVY))
        )
        for t, colour in [(view, LEFT), *((t, RIGHT) for t in clicks)]:
            if start <= t < start + size:
                canvas.dot(x(t), y + 13, colour, hollow=not pairs)
        label = ", ".join(f"view + {clock(t)}" for t in pairs) or "no match"
        canvas.text(x(30) + 12, y + 18, label, OUT if pairs else QUIET, "start", 12)
    return canvas.svg()


def tumbling_and_sliding() -> str:
    """Draws which sliding windows of clicks overlap the tumbling window of a view."""
    tumbling, size, slide, view = 10, 10, 5, 12
    clicks = [4, 7, 15, 24, 26]
    tumbling_start = view // tumbling * tumbling
    canvas = Canvas(790, 356, "Tumbling and sliding windows: one match if any of them overlap")

    def x(minute: float) -> float:
        return 150 + 14 * minute

    axis(canvas, x, range(-5, 36, 5), 344, 34)
    canvas.box(x(tumbling_start), 34, 14 * tumbling, 292, BAND)
    canvas.text(12, 56, "view", LEFT, "start")
    canvas.text(12, 72, "TUMBLING", QUIET, "start", 11)
    canvas.box(x(tumbling_start) + 1, 40, 14 * tumbling - 2, 24, "#ffffff", LEFT)
    canvas.dot(x(view), 52, LEFT)
    canvas.text(12, 106, "clicks", RIGHT, "start")
    canvas.text(12, 122, "SLIDING", QUIET, "start", 11)
    for i, t in enumerate(clicks):
        y = 86 + 48 * i
        is_match = False
        for line, start in enumerate(windows_of(t, size, slide)):
            overlaps = start < tumbling_start + tumbling and tumbling_start < start + size
            is_match |= overlaps
            colours = (PALE_OUT, OUT) if overlaps else (PALE, HEAVY)
            canvas.box(x(start) + 1, y + 18 * line, 14 * size - 2, 15, *colours)
        canvas.dot(x(t), y + 16, RIGHT, hollow=not is_match)
        label = f"{clock(t)}: {'one match' if is_match else 'no match'}"
        canvas.text(x(35) + 12, y + 21, label, OUT if is_match else QUIET, "start", 12)
    return canvas.svg()
