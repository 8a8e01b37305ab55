"""Draws the pictures of the book as SVG into this folder: `python -m docs.pictures.draw`.

The code computes what a picture shows, such as which rows match and where a watermark is.
"""

from __future__ import annotations

from pathlib import Path

from docs.pictures import (
    chains,
    joins,
    packages,
    regular_joins,
    salt,
    session_joins,
    tables,
    versions,
    watermarks,
    window_joins,
    windows,
)

PICTURES = {
    "interval-join.svg": joins.interval_join,
    "bounds.svg": joins.bounds,
    "watermark.svg": watermarks.watermark,
    "idle.svg": watermarks.idle,
    "late.svg": watermarks.late,
    "watermark-delay.svg": watermarks.watermark_delay,
    "windows.svg": windows.windows,
    "sessions.svg": windows.sessions,
    "emit.svg": windows.emit,
    "last-rows.svg": windows.last_rows,
    "window-join.svg": window_joins.window_join,
    "sliding-join.svg": window_joins.sliding_join,
    "tumbling-and-sliding.svg": window_joins.tumbling_and_sliding,
    "temporal-join.svg": versions.temporal_join,
    "directions.svg": versions.directions,
    "session-join.svg": session_joins.session_join,
    "regular-join.svg": regular_joins.regular_join,
    "chain.svg": chains.chain,
    "salt.svg": salt.salt,
    "lookup-join.svg": tables.lookup_join,
    "broadcast-join.svg": tables.broadcast_join,
    "packages.svg": packages.packages,
}


def main() -> None:
    for name, draw in PICTURES.items():
        Path(__file__).with_name(name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
