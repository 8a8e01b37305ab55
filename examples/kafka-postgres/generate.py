"""Generates the messages of the example: orders, and a shipment for most of them."""

from __future__ import annotations

import argparse
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 15, 8, tzinfo=UTC)
CARRIERS = ("UPS", "FedEx", "DHL")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=1_000, help="number of orders")
    parser.add_argument("--folder", type=Path, default=Path("data"), help="output folder")
    options = parser.parse_args()
    rng = random.Random(1)  # noqa: S311 -- data of an example
    orders, shipments = [], []
    for number in range(options.orders):
        ordered_at = START + timedelta(seconds=30 * number)
        order_id = f"ORD-{number:05d}"
        orders.append(
            {
                "order_id": order_id,
                "customer_id": f"CUST-{rng.randrange(100):03d}",
                "amount": f"{rng.randrange(500, 50_000) / 100:.2f}",
                "ordered_at": ordered_at.isoformat(),
            }
        )
        if rng.random() < 0.8:
            shipped_at = ordered_at + timedelta(minutes=rng.randrange(30, 1_200))
            shipments.append(
                {
                    "shipment_id": f"SHIP-{number:05d}",
                    "order_id": order_id,
                    "carrier": rng.choice(CARRIERS),
                    "shipped_at": shipped_at.isoformat(),
                }
            )
    shipments.sort(key=lambda row: row["shipped_at"])
    options.folder.mkdir(exist_ok=True)
    for name, rows in (("orders", orders), ("shipments", shipments)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (options.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
