"""Pictures of windows: the rows of each window, and when results are emitted."""

from __future__ import annotations

from collections.abc import Sequence

from docs.pictures.canvas import (
    BAD,
    BAND,
    GRID,
    INK,
    LEFT,
    OUT,
    PALE,
    PALE_BAD,
    PALE_OUT,
    QUIET,
    RIGHT,
    Canvas,
    axis,
    clock,
)

Span = tuple[int, int]


def sessions_of(times: Sequence[int], gap: int) -> list[Span]:
    """Returns the sessions of rows as intervals [first, last + gap)."""
    found: list[Span] = []
    for t in sorted(times):
        if found and t <= found[-1][1]:
            found[-1] = (found[-1][0], t + gap)
        else:
            found.append((t, t + gap))
    return found


def windows() -> str:
    """Draws the same rows in tumbling windows, sliding windows and sessions."""
    rows, size, slide, gap = [1, 3, 4, 11, 14, 17, 27, 29], 10, 5, 5
    canvas = Canvas(760, 348, "The same rows in tumbling windows, sliding windows and sessions")

    def x(minute: float) -> float:
        return 195 + 14.2 * minute

    axis(canvas, x, range(-5, 40, 5), 334, 40)
    kinds = [
        ("TUMBLING", "10 min", [(t, t + size) for t in range(0, 30, size)], 86, 1),
        ("SLIDING", "10 min, every 5", [(t, t + size) for t in range(-5, 30, slide)], 156, 2),
        ("SESSION", "gap 5 min", sessions_of(rows, gap), 262, 1),
    ]
    canvas.text(15, 45, "rows", anchor="start")
    for name, label, spans, y, lanes in kinds:
        canvas.text(15, y + 17, name, anchor="start")
        canvas.text(15, y + 35, label, QUIET, "start", 12)
        for i, (start, end) in enumerate(spans):
            count = sum(start <= t < end for t in rows)
            at = y + 36 * (i % lanes)
            full = (BAND, LEFT) if count else ("#ffffff", GRID)
            canvas.box(x(start) + 1, at, x(end) - x(start) - 2, 28, *full)
            canvas.text((x(start) + x(end)) / 2, at + 19, str(count), INK if count else QUIET)
    canvas.path([(120, 41), (745, 41)], GRID, 2)
    for t in rows:
        canvas.path([(x(t), 48), (x(t), 300)], LEFT, 0.6, "2 4")
        canvas.dot(x(t), 41, LEFT)
    return canvas.svg()


def sessions() -> str:
    """Draws a row that merges two sessions that were emitted before."""
    gap, first, late = 10, [0, 15, 18], 7
    canvas = Canvas(760, 286, "A row that arrives between two sessions merges them")

    def x(minute: float) -> float:
        return 130 + 17 * minute

    axis(canvas, x, range(0, 36, 5), 272)
    before, after = sessions_of(first, gap), sessions_of([*first, late], gap)
    for title, times, spans, y in (
        ("batch 0", first, before, 56),
        ("batch 1", [late], after, 176),
    ):
        canvas.text(15, y + 5, title, anchor="start")
        canvas.path([(115, y), (745, y)], GRID, 2)
        for start, end in spans:
            canvas.box(x(start), y + 16, x(end) - x(start), 28, BAND, LEFT)
            arrived = [*first, late] if spans is after else first
            count = sum(start <= t < end for t in arrived)
            label = "1 click" if count == 1 else f"{count} clicks"
            canvas.text((x(start) + x(end)) / 2, y + 35, label)
        for t in times:
            colour = RIGHT if t == late else LEFT
            canvas.text(x(t), y - 13, clock(t), colour)
            canvas.dot(x(t), y, colour)
    for start, end in before:
        canvas.text((x(start) + x(end)) / 2, 122, "+I, later retracted: −D", OUT, size=12)
    for start, end in after:
        canvas.text((x(start) + x(end)) / 2, 242, "+I", OUT, size=12)
    label = f"arrives later, within {gap} minutes of both"
    canvas.text(x(late) + 34, 163, label, RIGHT, "start", 12)
    return canvas.svg()


class WindowCount:
    """The count of one window over several micro-batches, with one way to emit it."""

    def __init__(self, end: int, *, changes: bool = False, lateness: int = 0) -> None:
        self.end, self.changes, self.lateness = end, changes, lateness
        self.count = self.emitted = 0

    def batch(self, rows: Sequence[int], before: int, after: int) -> tuple[list[str], int]:
        """Processes a micro-batch. Returns the emitted rows and the number of late rows."""
        own_rows = [t for t in rows if t < self.end]
        if self.end + self.lateness <= before:
            return [], len(own_rows)
        self.count += len(own_rows)
        if not self.count or (not own_rows and (self.emitted or self.changes)):
            return [], 0
        if not self.changes and after < self.end:
            return [], 0
        old, self.emitted = self.emitted, self.count
        return ([f"−U {old}", f"+U {self.count}"] if old else [f"+I {self.count}"]), 0


def emit() -> str:
    """Draws when the count of one window is emitted, for each kind of EMIT."""
    delay, end = 5, 60
    batches = [[10], [40, 20], [64], [55], [66], [58], [80], [59]]
    marks = [max(t for rows in batches[: i + 1] for t in rows) - delay for i in range(len(batches))]
    ways = [
        ("EMIT FINAL", "", WindowCount(end)),
        ("EMIT CHANGES", "", WindowCount(end, changes=True)),
        ("EMIT FINAL", "lateness 10 min", WindowCount(end, lateness=10)),
    ]
    canvas = Canvas(800, 330, "When the count of one window is emitted")

    def x(batch: float) -> float:
        return 130 + 82 * batch

    canvas.text(15, 52, "rows", anchor="start")
    canvas.text(15, 96, "W afterwards", anchor="start")
    for i, rows in enumerate(batches):
        canvas.path([(x(i), 16), (x(i), 318)], GRID)
        canvas.text(x(i + 0.5), 28, f"batch {i}", QUIET)
        for line, t in enumerate(rows):
            canvas.text(x(i + 0.5), 52 + 17 * line, clock(t), LEFT if t < end else QUIET)
        reached = marks[i] >= end > (marks[i - 1] if i else 0)
        if reached:
            canvas.box(x(i) + 12, 82, 58, 20, PALE_OUT, OUT)
        canvas.text(x(i + 0.5), 97, clock(marks[i]), OUT if reached else INK)
    canvas.path([(x(8), 16), (x(8), 318)], GRID)
    for lane, (name, more, way) in enumerate(ways):
        y = 128 + 66 * lane
        canvas.path([(15, y - 12), (x(8), y - 12)], GRID)
        canvas.text(15, y + 15, name, anchor="start")
        canvas.text(15, y + 33, more, QUIET, "start", 12)
        for i, rows in enumerate(batches):
            emitted, late = way.batch(rows, marks[i - 1] if i else -delay, marks[i])
            for line, text in enumerate(emitted):
                retracted = text.startswith("−")
                at = y - 4 + 24 * line
                fill, colour = (PALE, QUIET) if retracted else (PALE_OUT, OUT)
                canvas.box(x(i) + 14, at, 54, 20, fill, colour)
                canvas.text(x(i + 0.5), at + 15, text, colour)
            if late:
                canvas.box(x(i) + 14, y - 4, 54, 20, PALE_BAD, BAD)
                canvas.text(x(i + 0.5), y + 11, "late", BAD)
    return canvas.svg()


def last_rows() -> str:
    """Draws the rows that each result of ROWS BETWEEN 2 PRECEDING AND CURRENT ROW aggregates."""
    rows, preceding, delay = [(0, 10), (4, 30), (7, 20), (9, 70), (15, 60)], 2, 2
    canvas = Canvas(760, 300, "Aggregates over the last three rows")

    def x(minute: float) -> float:
        return 130 + 33 * minute

    axis(canvas, x, range(0, 19, 3), 288)
    canvas.text(15, 48, "readings", anchor="start")
    canvas.path([(115, 43), (745, 43)], GRID, 2)
    mark = max(t for t, _ in rows) - delay
    for i, (t, value) in enumerate(rows):
        frame = rows[max(0, i - preceding) : i + 1]
        y = 66 + 38 * i
        emitted = t < mark
        canvas.box(x(frame[0][0]) - 9, y, x(t) - x(frame[0][0]) + 18, 24, BAND, LEFT)
        for other, _ in frame:
            canvas.dot(x(other), y + 12, LEFT, hollow=other != t)
        mean = sum(v for _, v in frame) / len(frame)
        if emitted:
            canvas.text(x(t) + 18, y + 17, f"average {mean:g}", OUT, "start")
        else:
            label = f"average {mean:g}, when W has passed {clock(t)}"
            canvas.text(x(frame[0][0]) - 18, y + 17, label, QUIET, "end")
        canvas.text(x(t), 28, str(value), LEFT)
        canvas.dot(x(t), 43, LEFT)
    canvas.path([(x(mark), 56), (x(mark), 262)], OUT, 1.5, "5 4")
    canvas.text(x(mark) + 6, 62, f"W = {clock(mark)}", OUT, "start", 12)
    return canvas.svg()
