"""Pictures of temporal joins: the version that is valid at, before, after or near a row."""

from __future__ import annotations

from collections.abc import Sequence

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


def temporal_join() -> str:
    """Draws orders, and the rate that is valid at the time of each."""
    versions: list[tuple[int, str | None]] = [(2, "1.10"), (10, "1.20"), (18, None), (22, "1.30")]
    orders, mark, end = [("A", 0), ("B", 7), ("C", 10), ("D", 21), ("E", 27)], 26, 28
    canvas = Canvas(790, 318, "A left temporal join: matching versions, and when rows are emitted")
    lanes = {"orders": 56, "rates": 134, "out": 240}

    def x(minute: float) -> float:
        return 125 + 22.5 * minute

    axis(canvas, x, range(0, end + 1, 4), 306)
    for lane, y in lanes.items():
        canvas.text(15, y + 5, lane, anchor="start")
        if lane != "rates":
            canvas.path([(115, y), (x(end) + 20, y)], GRID, 2)
    for key, t in orders:
        found = [rate for since, rate in versions if since <= t]
        rate = found[-1] if found else None
        emitted = t < mark
        colour = QUIET if not emitted else OUT if rate else BAD
        canvas.path([(x(t), lanes["orders"]), (x(t), lanes["out"])], colour, 1, "3 3")
        canvas.dot(x(t), lanes["orders"], LEFT)
        canvas.text(x(t), lanes["orders"] - 14, f"{key} {clock(t)}", LEFT)
        canvas.dot(x(t), lanes["out"], colour, hollow=not emitted)
        canvas.text(
            x(t), lanes["out"] + 24, f"{key} + {rate or 'NULL'}" if emitted else "waits", colour
        )
    canvas.path([(x(mark), 66), (x(mark), 276)], INK, 1.5, "5 4")
    canvas.text(x(mark) - 6, 204, f"W = {clock(mark)}", INK, "end", 12)
    y = lanes["rates"]  # drawn over the lines
    for number, (since, rate) in enumerate(versions):
        later = number + 1 < len(versions)
        until = versions[number + 1][0] if later else end + 0.8
        fill, edge = (PALE_OUT, OUT) if rate else (PALE_BAD, BAD)
        canvas.box(x(since) + 1, y - 14, x(until) - x(since) - 2, 28, fill, edge)
        label = f"EUR {rate}" if rate else "deleted"
        canvas.text((x(since) + x(until)) / 2, y + 5, label, OUT if rate else BAD)
        canvas.text(x(since) + 4, y + 30, f"from {clock(since)}", QUIET, "start", 11)
    return canvas.svg()


def matching_version(versions: Sequence[int], t: int, direction: str, tolerance: int) -> int | None:
    """Returns the version that a row at time `t` matches."""
    before = max((v for v in versions if t - tolerance <= v <= t), default=None)
    after = min((v for v in versions if t <= v <= t + tolerance), default=None)
    if direction == "backward":
        return before
    if direction == "forward" or before is None:
        return after
    return before if after is None or t - before <= after - t else after


def directions() -> str:
    """Draws the same rows and versions with each direction."""
    versions, rows, tolerance = [4, 14, 30], [9, 11, 24], 8
    canvas = Canvas(790, 330, "Directions of a temporal join, with a tolerance")

    def x(minute: float) -> float:
        return 130 + 18 * minute

    axis(canvas, x, range(0, 33, 4), 318)
    for lane, direction in enumerate(("backward", "forward", "nearest")):
        y = 62 + 92 * lane
        canvas.text(15, y - 2, direction, anchor="start")
        canvas.text(15, y + 15, f"within {tolerance} min", QUIET, "start", 12)
        canvas.path([(120, y + 20), (x(34), y + 20)], GRID, 2)
        for version in versions:
            canvas.box(x(version) - 6, y + 13, 12, 14, RIGHT)
        for t in rows:
            reach = (
                t - tolerance * (direction != "forward"),
                t + tolerance * (direction != "backward"),
            )
            found = matching_version(versions, t, direction, tolerance)
            at = y - 26 + 12 * rows.index(t)
            canvas.box(x(reach[0]), at - 2, x(reach[1]) - x(reach[0]), 4, BAND)
            if found is not None:
                canvas.path([(x(t), at), (x(found), at)], OUT, 1.5)
                canvas.arrow((x(found), at), (x(found), y + 12), OUT)
            else:
                side = {"backward": (-12, "end"), "forward": (12, "start")}.get(
                    direction, (12, "start")
                )
                canvas.text(x(t) + side[0], at + 14, "NULL", BAD, side[1], 12)
            canvas.dot(x(t), at, LEFT if found is not None else BAD, hollow=found is None)
    canvas.dot(610, 18, LEFT)
    canvas.text(622, 22, "a row", anchor="start")
    canvas.box(680, 11, 12, 14, RIGHT)
    canvas.text(700, 22, "a version", anchor="start")
    return canvas.svg()
