"""Pictures of joins with tables: lookups and their cache, versions of a broadcast table."""

from __future__ import annotations

from dataclasses import dataclass

from docs.pictures.canvas import (
    BAD,
    BAND,
    GRID,
    INK,
    LEFT,
    OUT,
    PALE_BAD,
    PALE_OUT,
    QUIET,
    RIGHT,
    Canvas,
    axis,
    clock,
)

Since = list[tuple[int, str]]  # values by the time from which they are valid
END = 16


def x(minute: float) -> float:
    return 125 + 40 * minute


def value_at(changes: Since, t: float) -> str:
    return [what for since, what in changes if since <= t][-1]


def _lanes(canvas: Canvas, lanes: dict[str, int], lines: tuple[str, ...]) -> None:
    for lane, y in lanes.items():
        canvas.text(15, y + 5, lane, anchor="start")
        if lane in lines:
            canvas.path([(115, y), (x(END) + 20, y)], GRID, 2)


def _spans(canvas: Canvas, changes: Since, label: str, y: int) -> None:
    for number, (since, what) in enumerate(changes):
        later = number + 1 < len(changes)
        until = changes[number + 1][0] if later else END + 0.4
        canvas.box(x(since) + 1, y - 14, x(until) - x(since) - 2, 28, PALE_OUT, OUT)
        canvas.text((x(since) + x(until)) / 2, y + 5, label.format(what), OUT)


def lookup_join() -> str:
    """Draws orders of one customer: lookups in the database and cache hits."""
    tiers: Since = [(0, "silver"), (5, "gold")]
    orders, ttl = [1, 3, 6, 9, 14], 6
    canvas = Canvas(790, 330, "A lookup join: lookups in the database and cache hits")
    lanes = {"database": 40, "orders": 106, "cache": 164, "out": 232}
    axis(canvas, x, range(0, END + 1, 2), 318)
    _lanes(canvas, lanes, ("orders", "out"))
    canvas.text(15, lanes["cache"] + 22, f"ttl {ttl} min", QUIET, "start", 12)
    _spans(canvas, tiers, "Ada: {}", lanes["database"])
    looked_up, value = -ttl, ""
    for t in orders:
        if t - looked_up >= ttl:
            looked_up, value = t, value_at(tiers, t)
            until = min(t + ttl, END + 0.4)
            canvas.box(x(t), lanes["cache"] - 13, x(until) - x(t) - 2, 26, BAND, LEFT)
            label = f"{value}, until {clock(t + ttl)}"
            canvas.text(x(t) + 8, lanes["cache"] + 5, label, LEFT, "start", 12)
            canvas.arrow((x(t), lanes["orders"]), (x(t), lanes["database"] + 15), RIGHT)
            canvas.text(x(t) + 8, lanes["orders"] - 22, "lookup", RIGHT, "start", 12)
        canvas.path([(x(t), lanes["cache"] + 13), (x(t), lanes["out"])], OUT, 1, "3 3")
        canvas.dot(x(t), lanes["orders"], LEFT)
        stale = value != value_at(tiers, t)
        canvas.dot(x(t), lanes["out"], OUT, hollow=stale)
        canvas.text(x(t), lanes["out"] + 24, f"{clock(t)} {value}", OUT, size=12)
        if stale:
            canvas.text(x(t), lanes["out"] + 41, "from the cache", QUIET, size=12)
    return canvas.svg()


@dataclass(frozen=True)
class Attempt:
    """An attempt to run a micro-batch. A retry has the time of the first attempt."""

    batch: int
    time: int
    start: float
    stop: float
    killed: bool = False


def broadcast_join() -> str:
    """Draws a table that changes while a micro-batch runs, and a retried micro-batch."""
    rates: Since = [(0, "1.10"), (6, "1.20")]
    runs = [
        Attempt(0, 1, 1, 4),
        Attempt(1, 5, 5, 7.5, killed=True),
        Attempt(1, 5, 9, 12),
        Attempt(2, 13, 13, 15.6),
    ]
    canvas = Canvas(790, 268, "Versions of a table: a micro-batch uses the one valid at its time")
    lanes = {"rates": 40, "batches": 122, "out": 196}
    axis(canvas, x, range(0, END + 1, 2), 256)
    _lanes(canvas, lanes, ("out",))
    _spans(canvas, rates, "EUR {}", lanes["rates"])
    for run in runs:
        y, middle = lanes["batches"], (x(run.start) + x(run.stop)) / 2
        fill, edge = (PALE_BAD, BAD) if run.killed else (BAND, LEFT)
        canvas.arrow((x(run.time), y - 21), (x(run.time), lanes["rates"] + 15), RIGHT)
        if run.start - run.time > 1:
            canvas.path(
                [(middle, y - 21), (middle, y - 36), (x(run.time), y - 36)], RIGHT, 1, "4 3"
            )
        canvas.box(x(run.start), y - 20, x(run.stop) - x(run.start), 40, fill, edge)
        label = f"{run.batch}, killed" if run.killed else str(run.batch)
        canvas.text(middle, y - 3, f"batch {label}", INK)
        canvas.text(middle, y + 14, f"batch time: {clock(run.time)}", QUIET, size=11)
        if not run.killed:
            canvas.path([(x(run.stop), y + 20), (x(run.stop), lanes["out"])], OUT, 1, "3 3")
            canvas.dot(x(run.stop), lanes["out"], OUT)
            rate = value_at(rates, run.time)
            canvas.text(x(run.stop), lanes["out"] + 24, f"EUR {rate}", OUT)
    return canvas.svg()
