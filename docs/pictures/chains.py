"""A picture of a query with two joins: the second reads the results of the first."""

from __future__ import annotations

from docs.pictures.canvas import BAD, BAND, GRID, LEFT, OUT, QUIET, RIGHT, Canvas, axis, clock


def chain() -> str:
    """Draws orders, payments and a shipment: JOIN within 10 minutes, LEFT JOIN within 20."""
    orders, payments, shipments = {"A": 0, "B": 6}, {"A": 4, "B": 10}, {"A": 17}
    to_pay, to_send = 10, 20
    canvas = Canvas(790, 360, "Three streams: matches, and when they are emitted")
    lanes = {"orders": 48, "payments": 118, "shipments": 206, "out": 300}

    def x(minute: float) -> float:
        return 125 + 19 * minute

    axis(canvas, x, range(0, 33, 4), 348)
    for lane, y in lanes.items():
        canvas.path([(115, y), (775, y)], GRID, 2)
        canvas.text(15, y + 5, lane, anchor="start")
    canvas.text(15, lanes["payments"] + 23, f"within {to_pay} min", QUIET, "start", 12)
    canvas.text(15, lanes["shipments"] + 23, f"within {to_send} min", QUIET, "start", 12)
    for i, key in enumerate(orders):
        canvas.box(x(orders[key]), lanes["payments"] - 12 + 14 * i, 19 * to_pay, 10, BAND)
        canvas.box(x(payments[key]), lanes["shipments"] - 12 + 14 * i, 19 * to_send, 10, BAND)
    for key, t in orders.items():
        paid = payments[key]
        assert t <= paid <= t + to_pay, "both orders are paid in time"
        canvas.path([(x(t), lanes["orders"]), (x(t), lanes["payments"])], LEFT, 1, "3 3")
        canvas.dot(x(t), lanes["orders"], LEFT)
        canvas.text(x(t), lanes["orders"] - 14, f"{key} {clock(t)}", LEFT)
        canvas.path([(x(paid), lanes["payments"]), (x(paid), lanes["shipments"])], RIGHT, 1, "3 3")
        canvas.dot(x(paid), lanes["payments"], RIGHT)
        canvas.text(x(paid) + 4, lanes["payments"] - 20, f"{key} {clock(paid)}", RIGHT)
        sent = shipments.get(key)
        if sent is not None and paid <= sent <= paid + to_send:
            canvas.path([(x(sent), lanes["shipments"]), (x(sent), lanes["out"])], OUT, 1, "3 3")
            canvas.dot(x(sent), lanes["shipments"], RIGHT)
            canvas.text(x(sent), lanes["shipments"] - 20, f"{key} {clock(sent)}", RIGHT)
            canvas.dot(x(sent), lanes["out"], OUT)
            canvas.text(x(sent), lanes["out"] + 24, f"{key} + payment + shipment", OUT)
        else:
            due = paid + to_send
            canvas.path([(x(due), lanes["shipments"] + 12), (x(due), lanes["out"])], BAD, 1, "3 3")
            canvas.dot(x(due), lanes["out"], BAD)
            canvas.text(x(due), lanes["out"] + 24, f"{key} + payment + NULL", BAD)
            label = f"watermark passes {clock(due)}"
            canvas.text(x(due) - 8, lanes["out"] - 12, label, BAD, "end", 12)
    return canvas.svg()
