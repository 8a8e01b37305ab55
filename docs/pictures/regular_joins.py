"""A picture of a regular join: rows that meet whenever they come, as long as they are held."""

from __future__ import annotations

from docs.pictures.canvas import BAD, BAND, GRID, LEFT, OUT, QUIET, RIGHT, Canvas, axis, clock

TTL, END = 12, 28
ORDERS = {"A": 0, "B": 5}
PAYMENTS = {"A": 9, "B": 22}


def told() -> list[tuple[int, list[tuple[str, str]]]]:
    """What a left join tells, by time. W is where the rows are."""
    moments: dict[int, list[tuple[str, str]]] = {}
    for key, t in ORDERS.items():
        moments.setdefault(t, []).append((f"+I {key}, NULL", OUT))
        paid = PAYMENTS[key]
        if paid <= t + TTL:
            gone, came = (f"-D {key}, NULL", BAD), (f"+I {key}, card", OUT)
            moments.setdefault(paid, []).extend([gone, came])
    return sorted(moments.items())


def regular_join() -> str:
    """Two orders and their payments: one comes while its order is held, one too late."""
    canvas = Canvas(790, 318, "A left join with state.ttl: what comes out, and what is taken back")
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
        says = f"{key} is held until W passes {clock(t + TTL)}"
        canvas.text(x(t) + 8, y + 12, says, QUIET, "start", 11)
        canvas.path([(x(t), lanes["orders"]), (x(t), y + 16)], LEFT, 1, "3 3")
        canvas.dot(x(t), lanes["orders"], LEFT)
        canvas.text(x(t), lanes["orders"] - 14, f"{key} {clock(t)}", LEFT)
        paid = PAYMENTS[key]
        held = paid <= t + TTL
        canvas.dot(x(paid), lanes["payments"], RIGHT, hollow=not held)
        label = f"{key} {clock(paid)}"
        canvas.text(x(paid), lanes["payments"] - 14, label, RIGHT)
        if not held:
            says = f"finds no order: {key} is forgotten"
            canvas.text(x(paid), lanes["payments"] + 22, says, QUIET, size=12)
    for t, texts in told():
        canvas.path([(x(t), lanes["payments"] + 8), (x(t), lanes["out"])], texts[-1][1], 1, "3 3")
        canvas.dot(x(t), lanes["out"], texts[-1][1])
        for line, (text, colour) in enumerate(texts):
            canvas.text(x(t) - 6, lanes["out"] + 24 + 17 * line, text, colour, "start")
    return canvas.svg()
