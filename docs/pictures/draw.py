"""Draws the pictures of the book as SVG beside this file: `python -m docs.pictures.draw`.

What a picture shows is computed, not placed by hand: which rows match, where a watermark stands.
"""

from __future__ import annotations

from pathlib import Path

from docs.pictures import joins, watermarks, windows

PICTURES = {
    "interval-join.svg": joins.interval_join,
    "bounds.svg": joins.bounds,
    "watermark.svg": watermarks.watermark,
    "idle.svg": watermarks.idle,
    "late.svg": watermarks.late,
    "holds.svg": watermarks.holds,
    "windows.svg": windows.windows,
    "sessions.svg": windows.sessions,
    "emit.svg": windows.emit,
    "last-rows.svg": windows.last_rows,
}


def main() -> None:
    for name, draw in PICTURES.items():
        Path(__file__).with_name(name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
