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
VISITS = "visit_id long, user_id long, page string, event_time timestamp"
CLICKS = "click_id long, user_id long, target string, event_time timestamp"
TRADES = "trade_id long, symbol long, amount double, event_time timestamp"
QUOTES = "symbol long, price double, event_time timestamp"
_EVENTS_PER_SECOND = 20_000
_USERS = 20_000  # at one time; every ten seconds others come
_STAY = 10
MANY_USERS = 1_000_000  # who are there all the time: an event of each in 50 seconds
LONG_STAY = 86_400
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


def write_events(
    folder: Path, events: int, files: int, users: int = _USERS, stay: int = _STAY
) -> Written:
    """`events` events of users who come and go, out of order within two seconds, one in five
    delivered twice, over `files` micro-batches, by a fixed seed. `users`: so many at one time,
    for `stay` seconds."""
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
            "user_id": places // (_EVENTS_PER_SECOND * stay) * users + rng.integers(0, users, each),
            "amount": rng.integers(0, 10_000, each) / 100,
            "event_time": _BEGIN + micros.astype("timedelta64[us]"),
        }
        pq.write_table(pa.table(made), folder / "events" / f"{number:05d}.parquet")
    return Written(folder, each * files)


def write_visits(folder: Path, rows: int, files: int) -> Written:
    """Visits and clicks of users who come, stay some seconds and go: half of `rows` each."""
    rng = np.random.default_rng(3)
    each = rows // files // 2
    for name, what, texts in (("visits", "page", "visit_id"), ("clicks", "target", "click_id")):
        (folder / name).mkdir(parents=True)
        for number in range(files):
            places = np.arange(number * each, (number + 1) * each)
            micros = places * (2_000_000 // _EVENTS_PER_SECOND) + rng.integers(0, _JITTER, each)
            made = {
                texts: places,
                "user_id": places // (_EVENTS_PER_SECOND * _STAY // 2) * _USERS
                + rng.integers(0, _USERS, each),
                what: _PAGES[rng.integers(0, len(_PAGES), each)],
                "event_time": _BEGIN + micros.astype("timedelta64[us]"),
            }
            pq.write_table(pa.table(made), folder / name / f"{number:05d}.parquet")
    return Written(folder, each * files * 2)


_PAGES = np.array(["home", "search", "cart", "pay"])
SYMBOLS = 10_000
QUOTED = 2_000_000  # microseconds: no symbol is without a quote for longer


def write_trades(folder: Path, rows: int, files: int) -> Written:
    """Trades, and quotes of every symbol once a second, a bit before or after: half of `rows`
    each."""
    rng = np.random.default_rng(4)
    each = rows // files // 2
    for name in ("trades", "quotes"):
        (folder / name).mkdir(parents=True)
    for number in range(files):
        places = np.arange(number * each, (number + 1) * each)
        micros = places * (1_000_000 // SYMBOLS)
        quoted = {
            "symbol": places % SYMBOLS,
            "price": rng.integers(1, 10_000, each) / 100,
            "event_time": _BEGIN
            + (micros + rng.integers(0, 900_000, each)).astype("timedelta64[us]"),
        }
        pq.write_table(pa.table(quoted), folder / "quotes" / f"{number:05d}.parquet")
        traded = {
            "trade_id": places,
            "symbol": rng.integers(0, SYMBOLS, each),
            "amount": rng.random(each),
            "event_time": _BEGIN
            + (micros + QUOTED + rng.integers(0, 900_000, each)).astype("timedelta64[us]"),
        }
        pq.write_table(pa.table(traded), folder / "trades" / f"{number:05d}.parquet")
    return Written(folder, each * files * 2)


def write_hot(folder: Path, rows: int, files: int, share: float) -> Written:
    """Orders, each shipped 50 microseconds later: a share of them has one and the same key."""
    rng = np.random.default_rng(5)
    each = rows // files // 2
    for name in ("orders", "shipments"):
        (folder / name).mkdir(parents=True)
    for number in range(files):
        places = np.arange(number * each, (number + 1) * each)
        times = _BEGIN + (places * 100).astype("timedelta64[us]")
        keys = np.where(rng.random(each) < share, -1, places)
        made = {
            "order_id": keys,
            "customer_id": places % 1000,
            "amount": rng.random(each),
            "event_time": times,
        }
        pq.write_table(pa.table(made), folder / "orders" / f"{number:05d}.parquet")
        sent = {
            "order_id": keys,
            "shipment_id": places * 7,
            "carrier": _CARRIERS[places % len(_CARRIERS)],
            "event_time": times + np.timedelta64(50, "us"),
        }
        pq.write_table(pa.table(sent), folder / "shipments" / f"{number:05d}.parquet")
    return Written(folder, each * files * 2)


def write_keys(folder: Path, rows: int, files: int, keys: int) -> Written:
    """Events whose users are `keys` in all, each batch of them in any order."""
    rng = np.random.default_rng(6)
    (folder / "events").mkdir(parents=True)
    each = rows // files
    users = rng.permutation(np.resize(np.arange(keys), each * files))
    for number in range(files):
        places = np.arange(number * each, (number + 1) * each)
        made = {
            "message_id": places,
            "user_id": users[places],
            "amount": rng.random(each),
            "event_time": _BEGIN + places.astype("timedelta64[us]"),
        }
        pq.write_table(pa.table(made), folder / "events" / f"{number:05d}.parquet")
    return Written(folder, each * files)
