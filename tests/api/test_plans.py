"""A stream in Python has the same plan as its SQL, for every kind of operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from pyspark.sql.types import (
    DataType,
    DoubleType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

import millstream as ms
from millstream.api.frames import pipeline_of
from millstream.api.sources import SourceFrame
from millstream.api.tables import table_node
from millstream.plan.build.job import build_job
from millstream.plan.facts.pipeline import derive_pipeline_facts
from millstream.plan.nodes import (
    Aggregate,
    CrossJoin,
    Deduplicate,
    IntervalJoin,
    Operator,
    Pipeline,
    RegularJoin,
    RowsOver,
    SessionJoin,
    Source,
    TableJoin,
    TemporalJoin,
    TopN,
    WindowJoin,
)
from millstream.plan.nodes.traversal import nodes_of

TIMES = TimestampType()
ORDERS = {"id": StringType(), "customer": StringType(), "amount": DoubleType(), "t": TIMES}
SHIPS = {"id": StringType(), "carrier": StringType(), "t": TIMES}
NAMES = {"customer": StringType(), "name": StringType()}


@dataclass(frozen=True)
class Inputs:
    orders: ms.Stream
    ships: ms.Stream
    names: ms.Table


def frame(columns: Mapping[str, DataType]) -> Any:
    """A DataFrame without Spark: a plan reads nothing but its schema."""
    return SimpleNamespace(schema=StructType([StructField(*each) for each in columns.items()]))


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    orders = SourceFrame(frame(ORDERS), "t", 5_000_000, name="orders")
    ships = SourceFrame(frame(SHIPS), "t", 60_000_000, name="ships")
    table = ms.Table("", (), frame=frame(NAMES), name="names")
    return Inputs(ms.Stream(orders), ms.Stream(ships), table)


def of_sql(text: str, inputs: Inputs) -> Pipeline:
    """The plan of a job in SQL over the same sources and tables."""
    job = build_job(
        f"CREATE SINK result WITH ('connector' = 'console') AS {text}",
        sources={each.sources[0]: each._node for each in (inputs.orders, inputs.ships)},  # type: ignore[misc]
        tables={"names": table_node(inputs.names, "names")},
    )
    return job.pipelines[0]


JOINED = (
    "SELECT `left`.id AS id, `left`.customer AS customer, `left`.amount AS amount, `left`.t AS t, "
    "`right`.carrier AS carrier, `right`.t AS t_right FROM orders AS `left` {} JOIN ships {}"
)
INTERVAL = JOINED.format(
    "LEFT",
    "AS `right` ON `left`.id = `right`.id AND `right`.t BETWEEN `left`.t - INTERVAL 1 HOUR "
    "AND `left`.t + INTERVAL 1 DAY",
)


def interval(i: Inputs) -> ms.Stream:
    return i.orders.interval_join(i.ships, on="id", lower="-1h", upper="1 day", how="left")


def hourly(stream: ms.Stream) -> ms.Stream:
    return stream.window(ms.tumbling("1 hour")).aggregate(by="customer", total="sum(amount)")


HOURLY = (
    "SELECT customer, _WINDOW_START AS _window_start, _WINDOW_END AS _window_end, "
    "sum(amount) AS total FROM {} AS stream WINDOW TUMBLING(INTERVAL 1 HOUR) "
    "GROUP BY customer, _WINDOW_START, _WINDOW_END EMIT FINAL"
)

CASES: dict[str, tuple[type, str, Callable[[Inputs], ms.Stream]]] = {
    "select": (
        Source,
        "SELECT id, t AS at, amount * 2 AS twice FROM orders AS stream",
        lambda i: i.orders.select("id", "t AS at", twice="amount * 2"),
    ),
    "where": (
        Source,
        "SELECT * FROM orders AS stream WHERE amount > 1",
        lambda i: i.orders.where("amount > 1"),
    ),
    "filter": (
        Source,
        "SELECT * FROM orders AS stream WHERE amount > 1",
        lambda i: i.orders.filter("amount > 1"),
    ),
    "interval join": (IntervalJoin, INTERVAL, interval),
    "interval join with options": (
        IntervalJoin,
        f"{INTERVAL} WITH ('late.policy' = 'reassign', 'late.budget' = '1m', "
        "'state.max_rows' = '10', 'state.on_limit' = 'evict')",
        lambda i: i.orders.interval_join(
            i.ships,
            on="id",
            lower="-1h",
            upper="1 day",
            how="left",
            late=ms.reassign("1m"),
            limit=ms.StateLimit(10, on_limit=ms.OnLimit.EVICT),
        ),
    ),
    "semi join": (
        IntervalJoin,
        "SELECT `left`.id AS id, `left`.customer AS customer, `left`.amount AS amount, "
        "`left`.t AS t FROM orders AS `left` LEFT SEMI JOIN ships AS `right` "
        "ON `left`.id = `right`.id AND `right`.t BETWEEN `left`.t AND `left`.t + INTERVAL 1 HOUR",
        lambda i: i.orders.interval_join(i.ships, on="id", lower="0s", upper="1h", how="semi"),
    ),
    "window join": (
        WindowJoin,
        JOINED.format(
            "INNER",
            "AS `right` ON `left`.id = `right`.id WINDOW SLIDING(SIZE INTERVAL 1 HOUR, "
            "SLIDE INTERVAL 10 MINUTES) EMIT CHANGES WITH ('window.lateness' = '5m')",
        ),
        lambda i: i.orders.window_join(
            i.ships, ms.sliding("1 hour", "10 minutes"), on="id", lateness="5 minutes"
        ),
    ),
    "cross join": (
        CrossJoin,
        "SELECT `left`.id AS id, `left`.customer AS customer, `left`.amount AS amount, "
        "`left`.t AS t, `right`.id AS id_right, `right`.carrier AS carrier, "
        "`right`.t AS t_right FROM orders AS `left` CROSS JOIN ships AS `right` "
        "WINDOW TUMBLING(INTERVAL 1 HOUR) EMIT FINAL",
        lambda i: i.orders.cross_join(i.ships, ms.tumbling("1 hour"), emit="final"),
    ),
    "session join": (
        SessionJoin,
        JOINED.format(
            "LEFT",
            "AS `right` ON `left`.id = `right`.id WINDOW SESSION(GAP INTERVAL 30 MINUTES) "
            "EMIT FINAL",
        ),
        lambda i: i.orders.window_join(
            i.ships, ms.session("30 minutes"), on="id", how="left", emit="final"
        ),
    ),
    "temporal join": (
        TemporalJoin,
        JOINED.format(
            "LEFT",
            "FOR SYSTEM_TIME AS OF `left`.t AS `right` ON `left`.id = `right`.id "
            "WITH ('temporal.direction' = 'nearest', 'temporal.tolerance' = '10m')",
        ),
        lambda i: i.orders.temporal_join(
            i.ships, on="id", how="left", direction="nearest", tolerance="10m"
        ),
    ),
    "regular join": (
        RegularJoin,
        JOINED.format(
            "LEFT",
            "AS `right` ON `left`.id = `right`.id EMIT CHANGES WITH ('state.ttl' = '7d')",
        ),
        lambda i: i.orders.join(i.ships, on="id", how="left", ttl="7 days"),
    ),
    "lookup join": (
        TableJoin,
        "SELECT `left`.id AS id, `left`.customer AS customer, `left`.amount AS amount, "
        "`left`.t AS t, `right`.name AS name FROM orders AS `left` LEFT JOIN names AS `right` "
        "ON `left`.customer = `right`.customer",
        lambda i: i.orders.lookup_join(i.names, on="customer", how="left"),
    ),
    "windowed aggregate": (Aggregate, HOURLY.format("orders"), lambda i: hourly(i.orders)),
    "aggregate": (
        Aggregate,
        "SELECT customer, sum(amount) AS total FROM orders AS stream GROUP BY customer "
        "HAVING sum(amount) > 1 EMIT CHANGES WITH ('state.ttl' = '1d')",
        lambda i: i.orders.aggregate(
            by="customer", ttl="1 day", having="sum(amount) > 1", total="sum(amount)"
        ),
    ),
    "deduplicate": (
        Deduplicate,
        "SELECT DISTINCT ON (id) * FROM orders AS stream WITH ('state.ttl' = '1h')",
        lambda i: i.orders.deduplicate("id", within="1 hour"),
    ),
    "top_n": (
        TopN,
        "SELECT * FROM orders AS stream "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC) <= 3 "
        "WITH ('state.ttl' = 'forever')",
        lambda i: i.orders.top_n(3, by="customer", order="amount DESC", ttl=None),
    ),
    "top_n of windows": (
        TopN,
        f"WITH hourly AS ({HOURLY.format('orders')}) SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY _window_end ORDER BY total DESC) AS place FROM hourly AS stream "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY total DESC) <= 3",
        lambda i: hourly(i.orders).top_n(3, by="_window_end", order="total DESC", rank="place"),
    ),
    "window.top_n": (
        TopN,
        "SELECT * FROM orders AS stream WINDOW TUMBLING(INTERVAL 1 HOUR) "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY customer, _WINDOW_START, _WINDOW_END "
        "ORDER BY amount DESC) <= 2 EMIT FINAL",
        lambda i: i.orders.window(ms.tumbling("1 hour")).top_n(
            2, by="customer", order="amount DESC"
        ),
    ),
    "over_rows": (
        RowsOver,
        "SELECT *, avg(amount) OVER (PARTITION BY customer ORDER BY t "
        "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS mean FROM orders AS stream "
        "WITH ('state.ttl' = '1h')",
        lambda i: i.orders.over_rows(preceding=2, by="customer", ttl="1h", mean="avg(amount)"),
    ),
    "a join, its aggregate and a filter": (
        Aggregate,
        f"WITH joined AS ({INTERVAL}), hourly AS ({HOURLY.format('joined')}) "
        "SELECT * FROM hourly AS stream WHERE total > 10",
        lambda i: hourly(interval(i)).where("total > 10"),
    ),
    "a self-join": (
        IntervalJoin,
        "SELECT `left`.id AS id, `left`.customer AS customer, `left`.amount AS amount, "
        "`left`.t AS t, `right`.customer AS customer_b, `right`.amount AS amount_b, "
        "`right`.t AS t_b FROM orders AS `left` INNER JOIN orders AS `right` "
        "ON `left`.id = `right`.id AND `right`.t BETWEEN `left`.t AND `left`.t + INTERVAL 1 HOUR",
        lambda i: i.orders.interval_join(i.orders, on="id", lower="0s", upper="1h", suffix="_b"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stream_has_the_plan_of_its_sql(inputs: Inputs, name: str) -> None:
    kind, text, stream = CASES[name]
    made = stream(inputs)
    found = pipeline_of(made._root, made._names)
    expected = of_sql(text, inputs)
    assert found.root == expected.root
    assert (found.mode, found.emit) == (expected.mode, expected.emit)
    assert any(isinstance(node, kind) for node in nodes_of(found.root))
    assert derive_pipeline_facts(found).strategies == derive_pipeline_facts(expected).strategies


def test_every_kind_of_operator_is_compared() -> None:
    assert {kind for kind, _, _ in CASES.values()} == {Source, TableJoin, *get_args(Operator)}


def test_sql_and_methods_chain_in_one_plan(inputs: Inputs) -> None:
    joined = ms.sql(INTERVAL, orders=inputs.orders, ships=inputs.ships)
    found = hourly(joined)
    assert pipeline_of(found._root, found._names).root == (
        of_sql(f"WITH stream AS ({INTERVAL}) {HOURLY.format('stream')}", inputs).root
    )
    again = ms.sql("SELECT * FROM h WHERE total > 10", h=found)
    assert again.operators == ["left join of orders and ships", "aggregate of stream"]
    assert again.sources == ["orders", "ships"]
