"""Draws the pictures of the book as SVG beside this file: `python docs/pictures/draw.py`.

What a picture shows is computed, not placed by hand: which rows match, where a watermark stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

INK, QUIET, GRID = "#1f2933", "#616e7c", "#cbd2d9"
LEFT, RIGHT, OUT, BAD = "#2563a8", "#b45309", "#2f7d4f", "#c0392b"
BAND, HEAVY = "#dbe8f6", "#9aa5b1"


class Canvas:
    """A list of SVG elements. Coordinates are pixels, y grows downwards."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" '
            'font-family="Helvetica, Arial, sans-serif" font-size="13">'
        )
        self._parts = [f"<title>{escape(title)}</title>"]
        self.box(0, 0, width, height, "#ffffff")

    def box(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"/>'
        )

    def path(
        self, points: Sequence[tuple[float, float]], colour: str, width: float = 1, dash: str = ""
    ) -> None:
        at = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(
            f'<polyline points="{at}" fill="none" stroke="{colour}" '
            f'stroke-width="{width:g}"{dashes}/>'
        )

    def dot(self, x: float, y: float, colour: str, *, hollow: bool = False) -> None:
        fill = "#ffffff" if hollow else colour
        self._parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="{fill}" stroke="{colour}" '
            'stroke-width="2"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str = INK,
        anchor: str = "middle",
        size: int = 13,
    ) -> None:
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}" '
            f'font-size="{size}">{escape(text)}</text>'
        )

    def svg(self) -> str:
        return "\n".join([self._head, *self._parts, "</svg>"]) + "\n"


def clock(minute: int) -> str:
    """Minutes after 10:00 as a time of day."""
    return f"{10 + minute // 60:02}:{minute % 60:02}"


def axis(canvas: Canvas, x: Callable[[float], float], minutes: Sequence[int], y: int) -> None:
    for minute in minutes:
        canvas.path([(x(minute), 20), (x(minute), y - 18)], GRID)
        canvas.text(x(minute), y, clock(minute), QUIET)


def interval_join() -> str:
    """Two orders, three shipments, a bound of ten minutes: what matches, and when it comes out."""
    orders, upper = {"A": 0, "B": 8}, 10
    shipments = [("A", 4), ("A", 10), ("B", 21)]
    canvas = Canvas(760, 296, "A left interval join: what matches and when it comes out")
    lanes = {"orders": 50, "shipments": 145, "out": 230}

    def x(minute: float) -> float:
        return 125 + 24 * minute

    axis(canvas, x, range(0, 25, 4), 284)
    for lane, y in lanes.items():
        canvas.path([(115, y), (745, y)], GRID, 2)
        canvas.text(15, y + 5, lane, anchor="start")
    for i, (key, minute) in enumerate(orders.items()):
        y = lanes["shipments"] - 12 + 14 * i
        canvas.box(x(minute), y, 24 * upper, 10, BAND)
        canvas.path([(x(minute), lanes["orders"]), (x(minute), y + 10)], LEFT, 1, "3 3")
        canvas.text(x(minute), lanes["orders"] - 14, f"{key} {clock(minute)}", LEFT)
        canvas.dot(x(minute), lanes["orders"], LEFT)
    canvas.text(x(2), lanes["shipments"] + 20, "[10:00, 10:10]", QUIET, size=12)
    canvas.text(x(14), lanes["shipments"] + 30, "[10:08, 10:18]", QUIET, size=12)
    matched = set()
    for key, minute in shipments:
        fits = orders[key] <= minute <= orders[key] + upper
        label = f"{key} {clock(minute)}" + ("" if fits else " (too late for B)")
        canvas.text(x(minute), lanes["shipments"] - 20, label, RIGHT)
        if fits:
            matched.add(key)
            canvas.path([(x(minute), lanes["shipments"]), (x(minute), lanes["out"])], OUT, 1, "3 3")
            canvas.dot(x(minute), lanes["out"], OUT)
            canvas.text(x(minute), lanes["out"] + 24, f"{key} + shipment", OUT)
        canvas.dot(x(minute), lanes["shipments"], RIGHT, hollow=not fits)
    for key in orders.keys() - matched:
        due = orders[key] + upper
        canvas.path([(x(due), lanes["shipments"] + 12), (x(due), lanes["out"])], BAD, 1, "3 3")
        canvas.dot(x(due), lanes["out"], BAD)
        canvas.text(x(due), lanes["out"] + 24, f"{key} + NULL", BAD)
        canvas.text(
            x(due) + 10, lanes["out"] - 12, f"watermark passes {clock(due)}", BAD, "start", 12
        )
    return canvas.svg()


def bounds() -> str:
    """Bounds of either sign, seen from a row of the left side."""
    cases = [
        ("BETWEEN l.t AND l.t + INTERVAL 10 MINUTES", 0, 10),
        ("WITHIN INTERVAL 5 MINUTES", -5, 5),
        ("BETWEEN l.t - INTERVAL 10 MINUTES AND l.t - INTERVAL 5 MINUTES", -10, -5),
        ("r.t = l.t", 0, 0),
    ]
    canvas = Canvas(760, 60 + 62 * len(cases), "Bounds of either sign")

    def x(minute: float) -> float:
        return 380 + 30 * minute

    bottom = 62 * len(cases) + 18
    for minute in (-10, -5, 0, 5, 10):
        canvas.path([(x(minute), 22), (x(minute), bottom)], LEFT if minute == 0 else GRID)
        label = "l.t" if minute == 0 else f"l.t {'+' if minute > 0 else '−'} {abs(minute)} min"
        canvas.text(x(minute), bottom + 22, label, LEFT if minute == 0 else QUIET)
    for i, (sql, lower, upper) in enumerate(cases):
        y = 62 * i + 50
        canvas.box(x(lower) - 3, y, x(upper) - x(lower) + 6, 14, RIGHT)
        canvas.box(74, y - 24, 8 + 7.2 * len(sql), 18, "#ffffff")
        canvas.text(78, y - 10, sql, anchor="start")
    return canvas.svg()


def watermark() -> str:
    """Rows of two sources by arrival, each source's watermark, and the lower of both."""
    delay = 2
    arrivals = {
        "orders": [[2, 1], [6], [11, 9], [12], [17]],
        "shipments": [[1], [4, 3], [5], [16, 2], [18]],
    }
    canvas = Canvas(790, 440, "Watermarks: the minimum rule and a late row")

    def x(batch: float) -> float:
        return 80 + 110 * batch

    def y(minute: float) -> float:
        return 360 - 17 * minute

    for minute in range(0, 19, 6):
        canvas.path([(80, y(minute)), (632, y(minute))], GRID)
        canvas.text(70, y(minute) + 4, clock(minute), QUIET, "end")
    for batch in range(6):
        canvas.path([(x(batch), 50), (x(batch), 372)], GRID)
    for batch in range(5):
        canvas.text(x(batch + 0.5), 398, f"batch {batch}", QUIET)
    canvas.text(x(2.5), 424, "arrival", QUIET)
    canvas.text(20, 30, "event time", QUIET, "start")

    # A watermark moves when its batch is done: rows are judged by where it stood before.
    after = {
        name: [max(t for rows in batches[: i + 1] for t in rows) - delay for i in range(5)]
        for name, batches in arrivals.items()
    }
    lowest = [min(marks) for marks in zip(*after.values(), strict=True)]
    for marks, colour, width in (
        (lowest, HEAVY, 6),
        (after["orders"], LEFT, 2),
        (after["shipments"], RIGHT, 2),
    ):
        steps = [(x(i + 1 + end), y(mark)) for i, mark in enumerate(marks[:4]) for end in (0, 1)]
        canvas.path(steps, colour, width, "" if colour == HEAVY else "6 5")
    canvas.text(640, y(after["shipments"][3]) + 4, "shipments − 2 min", RIGHT, "start")
    canvas.text(640, y(after["orders"][3]) - 6, "orders − 2 min", LEFT, "start")
    canvas.text(640, y(lowest[3]) + 14, "W, the lower of both", INK, "start")
    for name, shift, colour in (("orders", 0.32, LEFT), ("shipments", 0.68, RIGHT)):
        for batch, rows in enumerate(arrivals[name]):
            for t in rows:
                late = batch > 0 and t < lowest[batch - 1]
                canvas.dot(x(batch + shift), y(t), BAD if late else colour, hollow=late)
                if late:
                    canvas.text(x(batch + shift) + 12, y(t) + 5, "late: t < W", BAD, "start")
    canvas.dot(220, 26, LEFT)
    canvas.text(232, 30, "a row of orders", anchor="start")
    canvas.dot(380, 26, RIGHT)
    canvas.text(392, 30, "a row of shipments", anchor="start")
    return canvas.svg()


PICTURES = {
    "interval-join.svg": interval_join,
    "bounds.svg": bounds,
    "watermark.svg": watermark,
}


def main() -> None:
    for name, draw in PICTURES.items():
        Path(__file__).with_name(name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
