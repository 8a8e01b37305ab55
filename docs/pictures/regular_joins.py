"""A picture of a regular join: rows match at any distance while they are in state."""

from __future__ import annotations

from docs.pictures.canvas import BAD, BAND, GRID, LEFT, OUT, QUIET, RIGHT, Canvas, axis, clock

TTL, END = 12, 28
ORDERS = {"A": 0, "B": 5}
PAYMENTS = {"A": 9, "B": 22}


def emitted_rows() -> list[tuple[int, list[tuple[str, str]]]]:
    """Returns what a left join emits, by time. W is the time of the last row."""
    emitted: dict[int, list[tuple[str, str]]] = {}
    for key, t in ORDERS.items():
        emitted.setdefault(t, []).append((f"+I {key}, NULL", OUT))
        paid = PAYMENTS[key]
        if paid <= t + TTL:
            retraction, match = (f"-D {key}, NULL", BAD), (f"+I {key}, card", OUT)
            emitted.setdefault(paid, []).extend([retraction, match])
    return sorted(emitted.items())


def regular_join() -> str:
    """Draws two orders and their payments: one arrives while its order is in state, one later."""
    canvas = Canvas(790, 318, "A left join with state.ttl: matches and retractions")
    lanes = {"orders": 52, "payments": 148, "out": 222}

    def x(minute: float) -> float:
        return 125 + 23 * minute

    axis(canvas, x, range(0, END + 1, 4), 306)
    for lane, y in lanes.items():
        canvas.path([(115, y), (x(END) + 15, y)], GRID, 2)
        canvas.text(15, y + 5, lane, anchor="start")
    for number, (key, t) in enumerate(ORDERS.items()):
        y = lanes["orders"] + 18 + 22 * number
        canvas.box(x(t), y, 23 * TTL, 16, BAND)
        label = f"{key} is in state until W passes {clock(t + TTL)}"
        canvas.text(x(t) + 8, y + 12, label, QUIET, "start", 11)
        canvas.path([(x(t), lanes["orders"]), (x(t), y + 16)], LEFT, 1, "3 3")
        canvas.dot(x(t), lanes["orders"], LEFT)
        canvas.text(x(t), lanes["orders"] - 14, f"{key} {clock(t)}", LEFT)
        paid = PAYMENTS[key]
        in_state = paid <= t + TTL
        canvas.dot(x(paid), lanes["payments"], RIGHT, hollow=not in_state)
        canvas.text(x(paid), lanes["payments"] - 14, f"{key} {clock(paid)}", RIGHT)
        if not in_state:
            label = f"no match: {key} has expired"
            canvas.text(x(paid), lanes["payments"] + 22, label, QUIET, size=12)
    for t, texts in emitted_rows():
        canvas.path([(x(t), lanes["payments"] + 8), (x(t), lanes["out"])], texts[-1][1], 1, "3 3")
        canvas.dot(x(t), lanes["out"], texts[-1][1])
        for line, (text, colour) in enumerate(texts):
            canvas.text(x(t) - 6, lanes["out"] + 24 + 17 * line, text, colour, "start")
    return canvas.svg()
