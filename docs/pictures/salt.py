"""A picture of 'join.salt': the rows of a skewed key in several key groups."""

from __future__ import annotations

from docs.pictures.canvas import BAND, HEAVY, INK, LEFT, OUT, PALE, QUIET, RIGHT, Canvas

GROUPS, SALT, ROWS = 4, 4, 12
REPLICATED = 2  # rows of the other side


def _group(canvas: Canvas, x: int, y: int, name: str, rows: tuple[int, int]) -> None:
    """Draws a key group with rows of both sides and its number of pairs."""
    width = 150
    busy = rows[0] * rows[1]
    canvas.box(x, y, width, 84, BAND if busy else PALE, LEFT if busy else HEAVY)
    canvas.text(x + 8, y + 17, name, QUIET, "start", 12)
    for number in range(rows[0]):
        canvas.dot(x + 14 + 17 * (number % 6), y + 36 + 17 * (number // 6), LEFT)
    for number in range(rows[1]):
        canvas.dot(x + width - 15 - 17 * number, y + 70, RIGHT)
    label = f"{busy} pairs" if busy else "no rows"
    canvas.text(x + width / 2, y + 104, label, OUT if busy else QUIET, size=12)


def salt() -> str:
    """Draws a skewed key in one key group, and distributed over four."""
    canvas = Canvas(
        790, 306, "A skewed key in one key group, and distributed over four by 'join.salt'"
    )
    for line, (title, salt_) in enumerate((("without", 1), (f"'join.salt' = '{SALT}'", SALT))):
        y = 40 + 136 * line
        canvas.text(12, y + 40, title, INK, "start")
        for number in range(GROUPS):
            distributed = ROWS // salt_ if number < salt_ else 0
            copies = REPLICATED if number < salt_ else 0
            _group(canvas, 136 + 162 * number, y, f"group {number}", (distributed, copies))
    canvas.dot(142, 18, LEFT)
    canvas.text(154, 22, "a left row of the key: in one group", anchor="start")
    canvas.dot(402, 18, RIGHT)
    canvas.text(414, 22, "a right row: in every group of the key", anchor="start")
    return canvas.svg()
