"""Pictures of interval joins: matches, and when they are emitted."""

from __future__ import annotations

from docs.pictures.canvas import BAD, BAND, GRID, LEFT, OUT, QUIET, RIGHT, Canvas, axis, clock


def interval_join() -> str:
    """Draws two orders and three shipments with a bound of ten minutes."""
    orders, upper = {"A": 0, "B": 8}, 10
    shipments = [("A", 4), ("A", 10), ("B", 21)]
    canvas = Canvas(760, 296, "A left interval join: matches, and when each row is emitted")
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
        is_match = orders[key] <= minute <= orders[key] + upper
        label = f"{key} {clock(minute)}" + ("" if is_match else " (too late for B)")
        canvas.text(x(minute), lanes["shipments"] - 20, label, RIGHT)
        if is_match:
            matched.add(key)
            canvas.path([(x(minute), lanes["shipments"]), (x(minute), lanes["out"])], OUT, 1, "3 3")
            canvas.dot(x(minute), lanes["out"], OUT)
            canvas.text(x(minute), lanes["out"] + 24, f"{key} + shipment", OUT)
        canvas.dot(x(minute), lanes["shipments"], RIGHT, hollow=not is_match)
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
    """Draws bounds of either sign, relative to a row of the left side."""
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
