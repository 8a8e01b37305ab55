"""Pictures of time: watermarks, idle sources, late rows, watermark delay."""

from __future__ import annotations

from collections.abc import Sequence

from docs.pictures.canvas import (
    BAD,
    BAND,
    GRID,
    HEAVY,
    INK,
    LEFT,
    OUT,
    PALE,
    PALE_BAD,
    PALE_OUT,
    QUIET,
    RIGHT,
    Canvas,
    Point,
    axis,
    clock,
)


def watermark() -> str:
    """Draws rows of two sources in order of arrival, and the resulting watermarks."""
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

    # A watermark advances after its batch; lateness is decided with the value before it.
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
    canvas.text(640, y(lowest[3]) + 14, "W, the minimum of both", INK, "start")
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


def idle() -> str:
    """Draws a source that becomes idle: W waits for it until its idle.timeout."""
    timeout = 30
    arrivals = {
        "orders": [(0, 0), (15, 3), (30, 6), (45, 9), (60, 12), (75, 15), (90, 18), (105, 21)],
        "shipments": [(0, 0), (15, 2), (30, 5), (97, 12), (105, 20)],
    }
    canvas = Canvas(790, 420, "An idle source is excluded from the minimum after its idle.timeout")

    def x(second: float) -> float:
        return 80 + 4.6 * second

    def y(minute: float) -> float:
        return 350 - 13.5 * minute

    for minute in range(0, 22, 5):
        canvas.path([(80, y(minute)), (x(120), y(minute))], GRID)
        canvas.text(70, y(minute) + 4, clock(minute), QUIET, "end")
    for second in range(0, 121, 15):
        canvas.text(x(second), 380, f"{second} s", QUIET)
    canvas.text(x(60), 406, "processing time", QUIET)
    canvas.text(20, 30, "event time", QUIET, "start")
    since = max(s for s, _ in arrivals["shipments"] if s < 60)
    again = next(s for s, _ in arrivals["shipments"] if s > 60)
    canvas.box(x(since + timeout), 50, x(again) - x(since + timeout), 312, PALE)
    canvas.text(x((since + timeout + again) / 2), 68, "shipments are idle", QUIET, size=12)

    def at(name: str, second: int) -> int:
        return max((t for s, t in arrivals[name] if s <= second), default=0)

    marks = [0]
    for second in range(121):
        idle_now = since + timeout <= second < again
        known = [at(name, second) for name in arrivals if not (idle_now and name == "shipments")]
        marks.append(max(marks[-1], min(known)))  # never decreases

    def steps(values: Sequence[int]) -> list[Point]:
        return [(x(s), y(v)) for s in range(121) for v in (values[max(s - 1, 0)], values[s])]

    canvas.path(steps(marks[1:]), HEAVY, 6)
    for name, colour in (("orders", LEFT), ("shipments", RIGHT)):
        canvas.path(steps([at(name, s) for s in range(121)]), colour, 1.5, "5 4")
        for second, t in arrivals[name]:
            behind = t < marks[second]
            canvas.dot(x(second), y(t), BAD if behind else colour, hollow=behind)
            if behind:
                canvas.text(x(second) + 10, y(t) + 22, "late: t < W", BAD, "start")
    canvas.text(x(120) + 8, y(21) + 4, "orders", LEFT, "start")
    canvas.text(x(120) + 8, y(20) + 14, "W, shipments", INK, "start")
    canvas.arrow((x(since), y(5) + 26), (x(since + timeout), y(5) + 26), RIGHT)
    canvas.text(x(since + timeout / 2), y(5) + 44, "idle.timeout", RIGHT, size=12)
    canvas.dot(220, 26, LEFT)
    canvas.text(232, 30, "a row of orders", anchor="start")
    canvas.dot(380, 26, RIGHT)
    canvas.text(392, 30, "a row of shipments", anchor="start")
    return canvas.svg()


def late() -> str:
    """Draws a row for a closed window under each late policy."""
    row, mark, lateness = 31, 65, 10
    policies = [
        ("drop", "dropped and counted"),
        ("reassign", "within the budget: processed at time W"),
        ("side_output", f"side output, {mark - row} minutes late"),
    ]
    canvas = Canvas(790, 380, "A late row under each policy")

    def x(minute: float) -> float:
        return 130 + 7 * minute

    axis(canvas, x, range(0, 91, 15), 366, 44)
    canvas.text(15, 73, "windows", anchor="start")
    for start, end, label, colours in (
        (0, 60, "closed", (PALE, HEAVY)),
        (60, 91, "open", (PALE_OUT, OUT)),
    ):
        canvas.box(x(start), 54, x(end) - x(start), 28, *colours)
        canvas.text(x(end) - 18, 73, label, QUIET if end < mark else OUT, "end")
    for lane, (policy, label) in enumerate(policies):
        y = 124 + 62 * lane
        canvas.path([(115, y), (775, y)], GRID, 2)
        canvas.text(15, y + 5, policy, anchor="start")
        if policy == "reassign":
            canvas.arrow((x(row) + 8, y), (x(mark) - 9, y), OUT)
            canvas.dot(x(mark), y, OUT)
        elif policy == "side_output":
            canvas.arrow((x(row), y + 8), (x(row), y + 32), RIGHT)
        canvas.dot(x(row), y, BAD, hollow=True)
        if policy == "drop":
            for slope in (-1, 1):
                canvas.path([(x(row) - 9, y - 9 * slope), (x(row) + 9, y + 9 * slope)], BAD, 2)
        canvas.text(x(row) + 14, y + 24, label, INK, "start", 12)
    y = 124 + 62 * 3
    canvas.text(15, y - 2, "window.lateness", anchor="start")
    canvas.text(15, y + 15, f"{lateness} min", QUIET, "start", 12)
    canvas.box(x(0), y - 12, x(60) - x(0), 24, PALE, HEAVY)
    canvas.box(x(60), y - 12, x(60 + lateness) - x(60), 24, BAND, LEFT)
    canvas.dot(x(row), y, LEFT)
    canvas.text(x(row) + 14, y + 4, "not late: updates the result, −U, +U", INK, "start", 12)
    canvas.path([(x(mark), 40), (x(mark), 346)], INK, 1.5, "5 4")
    canvas.text(x(mark), 32, f"W = {clock(mark)}", INK)
    canvas.text(x(row), 32, f"a row of {clock(row)} arrives", BAD)
    canvas.path([(x(row), 40), (x(row), 346)], BAD, 0.8, "2 4")
    return canvas.svg()


def watermark_delay() -> str:
    """Draws the watermarks of sources, an outer join, its results, and a window over them."""
    mark, upper, end = 19, 10, 10
    waiting = [(4, "A + shipment"), (5, "B + NULL"), (12, "C waits for a match")]
    results = mark - upper
    canvas = Canvas(790, 330, "The watermark of an operator's results has a delay")

    def x(minute: float) -> float:
        return 150 + 25 * minute

    axis(canvas, x, range(0, 25, 4), 316)
    lanes = [
        ("sources", "orders, shipments", mark, 62),
        ("left join", f"bound of {upper} min", mark, 142),
        ("its results", f"{upper} min behind", results, 192),
        ("window", "over the results", results, 262),
    ]
    for name, label, to, y in lanes:
        canvas.text(15, y - 2, name, anchor="start")
        canvas.text(15, y + 14, label, QUIET, "start", 12)
        canvas.path([(135, y), (775, y)], GRID, 2)
        if name != "window":
            canvas.path([(x(0), y), (x(to), y)], LEFT, 5)
            canvas.path([(x(to), y - 14), (x(to), y + 14)], LEFT, 2)
            canvas.text(x(to) + 8, y - 8, f"W = {clock(to)}", LEFT, "start")
    join = lanes[1][3]
    canvas.box(x(results), join + 6, x(mark) - x(results), 14, PALE_BAD)
    canvas.text(x(mark) + 8, join + 18, "may be unmatched", BAD, "start", 12)
    for minute, label in waiting:
        done = minute + upper < mark
        canvas.dot(x(minute), join, OUT if done else BAD, hollow=not done)
        shift = {4: ("end", -6), 5: ("start", 6)}.get(minute, ("middle", 0))
        canvas.text(x(minute) + shift[1], join - 14, label, OUT if done else BAD, shift[0], 12)
    y = lanes[3][3]
    canvas.box(x(0), y - 14, x(end) - x(0), 28, PALE_OUT, OUT)
    canvas.text(x(end / 2) - 10, y + 5, f"open until W = {clock(end)}", OUT)
    canvas.path([(x(results), y - 20), (x(results), y + 20)], LEFT, 2)
    canvas.text(
        x(end) + 8,
        y - 8,
        f"W = {clock(results)}: B, the last emitted row, is counted",
        LEFT,
        "start",
    )
    return canvas.svg()
