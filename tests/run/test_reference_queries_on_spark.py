"""The reference queries that are accepted, character by character, in one job with exact rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.golden.cases import read_cases
from tests.plan.build.test_reference_queries import SOURCES_SQL

from millstream.testing.case import Case, ExpectedOutput, Input, Row
from millstream.testing.runner import judge
from millstream.testing.spark_runner import SparkRunner

TABLE = """
CREATE TABLE device_metadata (
  device_id STRING, device_name STRING, location STRING, manufacturer STRING
) WITH ('connector' = 'file', 'path' = 'devices.csv');
"""
DAY = "2026-01-15T"
ORDERS = [
    {"order_id": "A", "customer_id": "c1", "product_id": "p1", "amount": 10.0},
    {"order_id": "B", "customer_id": "c2", "product_id": "p2", "amount": 20.0},
]
SHIPMENTS = [
    {"shipment_id": "s1", "order_id": "A", "carrier": "UPS", "event_time": "2026-01-16T10:00:00Z"},
    {"shipment_id": "s2", "order_id": "B", "carrier": "DHL", "event_time": f"{DAY}10:30:00Z"},
    {"shipment_id": "s3", "order_id": "A", "carrier": "DHL", "event_time": f"{DAY}09:59:59Z"},
]
INPUTS: dict[str, list[Row]] = {
    "orders": [{**each, "event_time": f"{DAY}10:00:00Z"} for each in ORDERS],
    "shipments": SHIPMENTS,
    "trades": [
        {"trader_id": "t", "symbol": "X", "price": price, "volume": 6, "event_time": f"{DAY}10:00Z"}
        for price in (10.0, 20.0)
    ],
    "transactions": [{"amount": 900_000.0}, {"amount": 200_000.0}],
    "sensor_readings": [
        {"device_id": device, "sensor_type": "heat", "value": 1.5} for device in ("d1", "d2")
    ],
    "stream": [{"key": "a", "value": 50}, {"key": "b", "value": 150}],
    "device_metadata": [
        {"device_id": "d1", "device_name": "one", "location": "hall", "manufacturer": "M"}
    ],
}
WHOLE = [
    {
        **order,
        "event_time": f"{DAY}10:00:00Z",
        "shipment_id": shipment["shipment_id"],
        "order_id_s": order["order_id"],
        "carrier": shipment["carrier"],
        "event_time_s": shipment["event_time"],
    }
    for order, shipment in zip(ORDERS, SHIPMENTS, strict=False)
]
READING = {"device_id": "d1", "sensor_type": "heat", "value": 1.5}
# The rows of each accepted query, by the beginning of its title.
EXPECTED: dict[str, list[Row]] = {
    "SELECT o.*, s.*": WHOLE,
    "Explicit interval join": [
        {"order_id": "A", "customer_id": "c1", "shipment_id": "s1", "carrier": "UPS"},
        {"order_id": "B", "customer_id": "c2", "shipment_id": "s2", "carrier": "DHL"},
    ],
    "Using WITH clause": WHOLE,
    "Tumbling window join": [{"order_id": "B", "shipment_id": "s2"}],
    # five windows contain 10:00:00 and 09:59:59, three contain 10:00:00 and 10:30:00
    "Sliding window join": [
        *[{"order_id": "A", "shipment_id": "s3"}] * 5,
        *[{"order_id": "B", "shipment_id": "s2"}] * 3,
    ],
    "Example: Global trade": [
        {
            "total_trades": 2,
            "total_volume": 12,
            "avg_price": 15.0,
            "min_price": 10.0,
            "max_price": 20.0,
        }
    ],
    "SELECT AVG(price)": [{"avg_price": 15.0}],
    "Global statistics": [
        {"COUNT(*)": 2, "AVG(price)": 15.0, "MIN(price)": 10.0, "MAX(price)": 20.0}
    ],
    "Global with HAVING": [{"total": 1_100_000.0}],
    "Example: Enrich": [
        {**READING, "device_name": "one", "location": "hall", "manufacturer": "M"},
        {
            **READING,
            "device_id": "d2",
            "device_name": None,
            "location": None,
            "manufacturer": None,
        },
    ],
    "Trading volume": [],
    "SELECT COUNT(*), AVG": [{"COUNT(*)": 2, "AVG(price)": 15.0}],
    "SELECT * FROM stream": [{"key": "b", "value": 150}],
}


def _texts() -> dict[str, str]:
    """The accepted queries by their key in EXPECTED."""
    accepted = [each for each in read_cases("reference") if not each.expected.startswith("MS-")]
    found = {key: [each.sql for each in accepted if each.title.startswith(key)] for key in EXPECTED}
    assert sum(map(len, found.values())) == len(accepted)
    return {key: sql for key, (sql,) in found.items()}


@pytest.mark.slow
def test_the_accepted_reference_queries_emit_exact_rows(spark):
    sinks = {key: f"q{number}" for number, key in enumerate(EXPECTED)}
    queries = "\n".join(
        f"CREATE SINK {sinks[key]} AS {sql.rstrip(';')};" for key, sql in _texts().items()
    )
    case = Case(
        "reference queries",
        SOURCES_SQL + TABLE + queries,
        Path(__file__),
        inputs={name: Input((tuple(rows),)) for name, rows in INPUTS.items()}
        | {"customer_totals": Input(())},
        expect={
            sinks[key]: ExpectedOutput(tuple(rows), applied=True) for key, rows in EXPECTED.items()
        },
    )
    outcome = SparkRunner(spark).run(case, cast("Any", "auto"))
    assert judge(case, outcome) == ("passed", "")
