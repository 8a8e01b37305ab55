"""An SVG canvas, and the colours, times of day and axes of all pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

INK, QUIET, GRID = "#1f2933", "#616e7c", "#cbd2d9"
LEFT, RIGHT, OUT, BAD = "#2563a8", "#b45309", "#2f7d4f", "#c0392b"
BAND, HEAVY = "#dbe8f6", "#9aa5b1"
PALE, PALE_OUT, PALE_BAD = "#eef1f4", "#dcf0e4", "#f9e0dc"

Point = tuple[float, float]


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

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, edge: str = ""
    ) -> None:
        """Draws a rectangle; with an edge, it has round corners."""
        stroke = f' stroke="{edge}" rx="4"' if edge else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'fill="{fill}"{stroke}/>'
        )

    def path(self, points: Sequence[Point], colour: str, width: float = 1, dash: str = "") -> None:
        at = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(
            f'<polyline points="{at}" fill="none" stroke="{colour}" '
            f'stroke-width="{width:g}"{dashes}/>'
        )

    def arrow(self, start: Point, end: Point, colour: str) -> None:
        """Draws a horizontal or vertical arrow."""
        (x1, y1), (x2, y2) = start, end
        self.path([start, end], colour, 1.5)
        if y1 == y2:
            back = 7 if x2 > x1 else -7
            head = [(x2 - back, y2 - 4), (x2, y2), (x2 - back, y2 + 4)]
        else:
            back = 7 if y2 > y1 else -7
            head = [(x2 - 4, y2 - back), (x2, y2), (x2 + 4, y2 - back)]
        self.path(head, colour, 1.5)

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
    """Formats minutes after 10:00 as a time of day."""
    return f"{10 + minute // 60:02}:{minute % 60:02}"


def axis(
    canvas: Canvas, x: Callable[[float], float], minutes: Sequence[int], y: int, top: int = 20
) -> None:
    for minute in minutes:
        canvas.path([(x(minute), top), (x(minute), y - 18)], GRID)
        canvas.text(x(minute), y, clock(minute), QUIET)
