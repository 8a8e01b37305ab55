"""Rows as Parquet files, the same for every engine: a file of each stream a micro-batch."""

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
EVENTS = "message_id long, user_id long, amount double, event_time timestamp"
_EVENTS_PER_SECOND = 20_000
_USERS = 20_000  # at one time; every ten seconds others come
_STAY = 10
_AGAIN = 0.2
_JITTER = 2_000_000


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


def write_users(folder: Path, users: int, files: int) -> Written:
    """One event of each of `users` users, all within a second."""
    (folder / "events").mkdir(parents=True)
    each = users // files
    for number in range(files):
        ids = np.arange(number * each, (number + 1) * each)
        made = {
            "message_id": ids,
            "user_id": ids,
            "amount": ids / 100,
            "event_time": _BEGIN + ids.astype("timedelta64[us]"),
        }
        pq.write_table(pa.table(made), folder / "events" / f"{number:05d}.parquet")
    return Written(folder, each * files)


def write_events(folder: Path, events: int, files: int) -> Written:
    """`events` events of users who come and go, out of order within two seconds, one in five
    delivered twice, over `files` micro-batches, by a fixed seed."""
    rng = np.random.default_rng(2)
    (folder / "events").mkdir(parents=True)
    each = events // files
    for number in range(files):
        places = np.arange(number * each, (number + 1) * each)
        ids = places.copy()
        again = rng.random(each) < _AGAIN
        again[:100] = False
        ids[again] -= rng.integers(1, 100, np.count_nonzero(again))
        micros = places * (1_000_000 // _EVENTS_PER_SECOND) + rng.integers(0, _JITTER, each)
        made = {
            "message_id": ids,
            "user_id": places // (_EVENTS_PER_SECOND * _STAY) * _USERS
            + rng.integers(0, _USERS, each),
            "amount": rng.integers(0, 10_000, each) / 100,
            "event_time": _BEGIN + micros.astype("timedelta64[us]"),
        }
        pq.write_table(pa.table(made), folder / "events" / f"{number:05d}.parquet")
    return Written(folder, each * files)
