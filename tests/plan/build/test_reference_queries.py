"""Plans the reference queries: queries from requirements, character by character.

A query whose state would grow forever is rejected; its error names the clause that bounds it.
"""

from __future__ import annotations

import pytest
from tests.golden import cases
from tests.plan.plans import describe_plan, sources_of

from millstream.plan.build.job import build_job, build_query
from millstream.plan.nodes.traversal import reference_tables_of

SOURCES_SQL = """
CREATE SOURCE orders (
  order_id STRING, customer_id STRING, product_id STRING, amount DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
);
CREATE SOURCE shipments (
  shipment_id STRING, order_id STRING, carrier STRING, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
);
CREATE SOURCE trades (
  trader_id STRING, symbol STRING, price DOUBLE, volume BIGINT, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 1 SECOND
);
CREATE SOURCE transactions (amount DOUBLE);
CREATE SOURCE customer_totals (customer_id STRING, total_spent DOUBLE);
CREATE SOURCE sensor_readings (device_id STRING, sensor_type STRING, value DOUBLE);
CREATE SOURCE stream (key STRING, value INT);
"""
STREAMS = (
    *("orders", "shipments", "trades", "transactions", "customer_totals", "sensor_readings"),
    "stream",
)
TABLES_SQL = """
CREATE TABLE device_metadata (
  device_id STRING, device_name STRING, location STRING, manufacturer STRING
) WITH ('connector' = 'file', 'path' = 'devices.csv');
CREATE TABLE customers (customer_id STRING, customer_name STRING)
WITH ('connector' = 'file', 'path' = 'customers.csv');
CREATE SINK a AS
SELECT t.* FROM sensor_readings r JOIN device_metadata t ON t.device_id = r.device_id;
CREATE SINK b AS SELECT t.* FROM orders o JOIN customers t ON t.customer_id = o.customer_id;
"""
SOURCES = sources_of(SOURCES_SQL, STREAMS)
TABLES = {table.name: table for table in reference_tables_of(build_job(SOURCES_SQL + TABLES_SQL))}


@pytest.mark.parametrize("case", cases.cases("reference"))
def test_plan_of_a_reference_query_equals_its_golden_file(case: cases.Case) -> None:
    cases.check(case, lambda sql: describe_plan(lambda: build_query(sql, SOURCES, tables=TABLES)))


BOUND = " AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS"
TTL = " WITH ('state.ttl' = '1d')"
FIXES = [
    ("Inner join (default)", {"s.order_id;": f"s.order_id{BOUND};"}),
    ("Left join", {"shipments s": "shipments s WITHIN INTERVAL 5 MINUTES"}),
    ("Right join", {"s.order_id;": "s.order_id WINDOW TUMBLING(INTERVAL '1' HOUR);"}),
    ("Full outer join", {"s.order_id;": f"s.order_id{TTL};"}),
    ("        SELECT o.order_id", {"= s.order_id": f"= s.order_id{BOUND}"}),
    ("SELECT trader_id", {"BY trader_id, symbol": f"BY trader_id, symbol{TTL}"}),
    ("SELECT trader_id", {"FROM trades": "FROM trades WINDOW TUMBLING(INTERVAL '1' HOUR)"}),
    (
        "SELECT o.order_id, c.",
        {
            "o.order_id, c.customer_name": "any_value(o.order_id), max(customer_name)",
            "o.amount": "max(o.amount)",
            "BY o.customer_id": f"BY o.customer_id{TTL}",
        },
    ),
    ("Product co-purchase", {"BY o1.customer_id": f"BY o1.customer_id{TTL}"}),
]


@pytest.mark.parametrize(("title", "changes"), FIXES)
def test_a_rejected_reference_query_is_planned_with_its_fix(
    title: str, changes: dict[str, str]
) -> None:
    (sql,) = [case.sql for case in cases.read_cases("reference") if case.title.startswith(title)]
    for old, new in changes.items():
        assert sql.count(old) == 1
        sql = sql.replace(old, new)
    build_query(sql, SOURCES, tables=TABLES)
