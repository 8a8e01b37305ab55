"""Orders and shipments as Parquet files, the same for every engine: a file each a micro-batch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BOUND = 60_000_000  # microseconds: nine orders in ten ship within a minute
_ORDERS_PER_SECOND = 10_000
_SHIPPED = 0.9
_BEGIN = np.datetime64("2026-01-01T00:00:00", "us")
_CARRIERS = np.array(["UPS", "DHL", "FedEx"])

ORDERS = "order_id long, customer_id long, amount double, event_time timestamp"
SHIPMENTS = "order_id long, shipment_id long, carrier string, event_time timestamp"


@dataclass(frozen=True, slots=True)
class Written:
    folder: Path
    rows: int


def write(folder: Path, orders: int, files: int) -> Written:
    """`orders` orders and their shipments over `files` micro-batches, by a fixed seed."""
    rng = np.random.default_rng(1)
    rows, each = 0, orders // files
    for name in ("orders", "shipments"):
        (folder / name).mkdir(parents=True)
    for number in range(files):
        ids = np.arange(number * each, (number + 1) * each)
        times = _BEGIN + (ids * (1_000_000 // _ORDERS_PER_SECOND)).astype("timedelta64[us]")
        made = {
            "order_id": ids,
            "customer_id": rng.integers(0, 1000, each),
            "amount": rng.random(each),
            "event_time": times,
        }
        pq.write_table(pa.table(made), folder / "orders" / f"{number:05d}.parquet")
        shipped = times + rng.integers(0, BOUND, each).astype("timedelta64[us]")
        order = np.argsort(shipped, kind="stable")
        order = order[rng.random(each)[order] < _SHIPPED]
        sent = {
            "order_id": ids[order],
            "shipment_id": ids[order] * 7,
            "carrier": _CARRIERS[rng.integers(0, len(_CARRIERS), len(order))],
            "event_time": shipped[order],
        }
        pq.write_table(pa.table(sent), folder / "shipments" / f"{number:05d}.parquet")
        rows += each + len(order)
    return Written(folder, rows)
