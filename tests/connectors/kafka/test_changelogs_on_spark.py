"""Topics that are changelogs, on Spark, with a real broker: results follow their changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.connectors.kafka.jobs import source
from tests.run.trial import Trial, at
from tests.services.kafka import Kafka

pytestmark = [pytest.mark.service, pytest.mark.slow, pytest.mark.timeout(900)]
FOREVER = "WITH ('state.ttl' = 'forever')"
ORDERS = "id STRING, customer STRING, t TIMESTAMP, WATERMARK FOR t AS t"
CUSTOMERS = "id STRING, name STRING, t TIMESTAMP, WATERMARK FOR t AS t"
RATES = (
    "currency STRING, rate DOUBLE, _OP STRING, t TIMESTAMP, PRIMARY KEY (currency), "
    "WATERMARK FOR t AS t"
)
PAYMENTS = "id STRING, currency STRING, t TIMESTAMP, WATERMARK FOR t AS t"


def sink(name: str, select: str) -> str:
    return f"CREATE SINK {name} WITH ('connector' = 'file', 'path' = '{name}') AS {select};\n"


def order(op: str, before: tuple[str, str] | None, after: tuple[str, str] | None) -> str:
    sides = (side and {"id": side[0], "customer": side[1], "t": at(0)} for side in (before, after))
    return json.dumps({**dict(zip(("before", "after"), sides, strict=True)), "op": op})


def table_of(rows: Iterable[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """The rows that are left after all changes."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        values = tuple(value for name, value in row.items() if name != "_OP")
        found[values] += -1 if row["_OP"] in ("-D", "-U") else 1
    assert all(count >= 0 for count in found.values())
    return +found


def test_results_follow_the_changes_of_topics(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    orders, customers = kafka.create("cdc-orders", 1), kafka.create("cdc-customers", 2)
    upserts = {"changelog": "upsert", "key_columns": "id"}
    job = (
        source(kafka, orders, ORDERS, "orders", changelog="debezium")
        + source(kafka, customers, CUSTOMERS, "customers", **upserts)
        + sink(
            "joined",
            "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id "
            + FOREVER,
        )
        + sink(
            "counts",
            f"SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer EMIT CHANGES {FOREVER}",
        )
        + sink("plain", "SELECT id, customer FROM orders WHERE customer <> 'x'")
        + sink("current", "SELECT id, name FROM customers")
    )
    trial = Trial(spark, tmp_path, job)
    run = trial.start()
    try:
        kafka.write(
            orders,
            [
                order("r", None, ("o1", "c1")),
                order("c", None, ("o2", "c2")),
                order("c", None, ("o3", "c1")),
            ],
        )
        names = {"c1": "Ann", "c2": "Bob"}
        kafka.write(
            customers,
            [json.dumps({"id": key, "name": name, "t": at(0)}) for key, name in names.items()],
            keys=list(names),
        )
        run.process_available()
        assert table_of(trial.read("joined")) == Counter(
            [("o1", "Ann"), ("o2", "Bob"), ("o3", "Ann")]
        )
        kafka.write(
            orders,
            [
                order("u", ("o1", "c1"), ("o1", "x")),
                order("d", ("o2", "c2"), None),
                None,  # of the delete
                order("u", ("o3", "c1"), ("o3", "c2")),
            ],
        )
        kafka.write(
            customers,
            [json.dumps({"id": "c2", "name": "Bea", "t": at(1)}), None],
            keys=["c2", "c1"],
        )
        run.process_available()
        assert table_of(trial.read("joined")) == Counter([("o1", None), ("o3", "Bea")])
        assert table_of(trial.read("counts")) == Counter([("x", 1), ("c2", 1)])
        assert table_of(trial.read("current")) == Counter([("c2", "Bea")])
        kafka.write(customers, [json.dumps({"id": "c1", "name": "Amy", "t": at(2)})], keys=["c1"])
        run.process_available()
    finally:
        run.stop()
    assert table_of(trial.read("current")) == Counter([("c1", "Amy"), ("c2", "Bea")])
    assert [tuple(row.values()) for row in trial.read("plain")] == [
        *[("o1", "c1", "+I"), ("o2", "c2", "+I"), ("o3", "c1", "+I")],
        *[("o1", "c1", "-D"), ("o2", "c2", "-D"), ("o3", "c1", "-U"), ("o3", "c2", "+U")],
    ]


def test_a_tombstone_ends_a_version_and_batches_may_be_run_again(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    rates, payments = kafka.create("cdc-rates", 1), kafka.create("cdc-payments", 1)
    start = 1_768_471_200_000  # 10:00
    versions = source(
        *(kafka, rates, RATES, "rates"), changelog="upsert", key_columns="currency"
    ).replace("CREATE SOURCE", "CREATE TABLE")
    job = (
        versions
        + source(kafka, payments, PAYMENTS, "payments")
        + sink(
            "out",
            "SELECT p.id, r.rate FROM payments p LEFT JOIN rates FOR SYSTEM_TIME AS OF p.t AS r "
            "ON p.currency = r.currency",
        )
    )
    for minute, rate in ((0, 1.5), (20, None), (40, 2.5)):
        value = json.dumps({"currency": "EUR", "rate": rate, "t": at(minute)})
        given = None if rate is None else value
        kafka.write(rates, [given], keys=["EUR"], timestamp=start + minute * 60_000)
    kafka.write(
        payments,
        [
            json.dumps({"id": f"p{minute}", "currency": "EUR", "t": at(minute)})
            for minute in (10, 30, 50)
        ],
    )
    trial = Trial(spark, tmp_path, job)
    trial.flushed()
    trial.forget_last_commit()
    trial.flushed()
    assert sorted((row["id"], row["rate"]) for row in trial.read("out")) == [
        ("p10", 1.5),
        ("p30", None),
        ("p50", 2.5),
    ]
