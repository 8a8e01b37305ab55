"""Generated columns and columns of users never collide, whatever the latter are called."""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.engine.streams import EPOCH, Bag, by_spark, collect, cut, left_over, random_rows, run

import millstream as ms
from millstream.connectors.memory import MemoryStream

NUMBERED = "SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS n FROM s"


@pytest.mark.parametrize("order", ["y DESC, id", "x * 2 - id, id"], ids=["double", "expression"])
def test_top_n_by_a_double_column_or_an_expression(spark, order: str) -> None:
    rng = random.Random(order)
    rows = random_rows(rng, 60)
    query = f"SELECT k, id, n FROM ({NUMBERED.format(order)}) WHERE n <= 2"
    came, _ = run(spark, f"{query} WITH ('state.ttl' = 'forever')", cut(rng, rows, 3))
    assert left_over(came) == by_spark(spark, query, rows)


# Names of columns in packets, in state, in frames between operators, and of packets themselves.
NAMES = (
    *("s0", "sent0", "w0", "file0", "c0", "d0", "x0", "o0", "f0", "k0", "a0", "l0", "r0", "lk0"),
    *("rx0", "rank0", "_t", "_h", "_g", "_p", "_op", "_now", "_own", "_port", "_from", "_blob"),
    *("_flag", "_matched", "_carried", "_due", "_rank", "_spread", "_n", "_w", "_a", "_key"),
    *(
        "label",
        "kind",
        "target",
        "sequence",
        "max_time",
        "rows",
        "payload",
        "input_counts",
        "path",
        "literal",
    ),
    *("_lateness", "_row", "_id", "_pane", "_window_until", "_window_starts", "_source", "_raw"),
)
SCHEMA = ", ".join([*(f"`{name}` bigint" for name in NAMES), "t timestamp"])
ALL = ", ".join(f"`{name}`" for name in NAMES)
# Results that change have a column _OP.
ALL_BUT_OP = ", ".join(f"`{name}`" for name in NAMES if name != "_op")
ONE = ", ".join(f"l.`{name}`" for name in NAMES)


def odd_rows(count: int = 6) -> list[dict[str, object]]:
    values = {name: place for place, name in enumerate(NAMES)}
    return [
        {
            **{name: place * 1000 + number % 3 for name, place in values.items()},
            "t": EPOCH + timedelta(seconds=number),
        }
        for number in range(count)
    ]


def ran(spark, query: str) -> Bag:
    streams = {name: MemoryStream(spark, SCHEMA) for name in ("l", "r")}
    for stream in streams.values():
        stream.add(odd_rows()[:3])
        stream.add(odd_rows()[3:])
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "control"
        timed: dict[str, Any] = {
            name: ms.stream(stream.frame(), time="t", delay="1s")
            for name, stream in streams.items()
            if f" {name}" in query
        }
        frame = ms.sql(query, **timed).to_df(control=control, key_groups=2)
        return left_over(collect(frame, control, folder)[0])


def wanted(query: str) -> Bag:
    import duckdb
    import pyarrow as pa

    with duckdb.connect() as base:
        for name in ("l", "r"):
            base.register(name, pa.Table.from_pylist(odd_rows()))
        found = base.sql(query.replace("`", '"')).to_arrow_table().to_pylist()
    return Counter(tuple(row.values()) for row in found)


FOREVER = "WITH ('state.ttl' = 'forever')"
JOINED = f"SELECT {ONE}, r.`_t` AS d0_2 FROM l JOIN r ON r.`s0` = l.`s0` AND r.`_h` = l.`_h`"
QUERIES = {
    "interval join": (f"{JOINED} AND r.t = l.t AND l.`x0` <= r.`rx0`", ""),
    "regular join": (JOINED, FOREVER),
    "distinct on": (f"SELECT DISTINCT {ALL} FROM l", FOREVER),
    "aggregate": (
        f"SELECT {ALL_BUT_OP}, count(*) AS `_ws`, sum(`_t`) AS `_we`, max(`_op`) AS `m` FROM l "
        f"GROUP BY {ALL}",
        FOREVER,
    ),
    "top n": (
        f"SELECT {ALL_BUT_OP}, a1 FROM (SELECT {ALL}, ROW_NUMBER() OVER (PARTITION BY `s0`, `_h` "
        "ORDER BY `_t` * 2, t) AS a1 FROM l) x WHERE a1 <= 1",
        FOREVER,
    ),
    "rows over": (
        f"SELECT {ALL}, sum(`_t`) OVER (PARTITION BY `s0` ORDER BY t ROWS BETWEEN UNBOUNDED "
        "PRECEDING AND CURRENT ROW) AS x1 FROM l",
        FOREVER,
    ),
    "windowed aggregate": (
        f"SELECT {ALL}, count(*) AS n FROM l {{WINDOW TUMBLING(INTERVAL '1' HOUR)}} GROUP BY {ALL}",
        "",
    ),
    "session aggregate": (
        f"SELECT {ALL}, max(`_t`) AS m FROM l {{WINDOW SESSION(GAP INTERVAL '1' HOUR)}} "
        f"GROUP BY {ALL}",
        "",
    ),
    "session join": (f"{JOINED} {{WINDOW SESSION(GAP INTERVAL '1' HOUR)}}", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_columns_of_users_may_have_the_names_of_generated_ones(spark, name: str) -> None:
    query, properties = QUERIES[name]
    ours = query.replace("{", "").replace("}", "")
    assert ran(spark, f"{ours} {properties}") == wanted(re.sub(r"\{.*?\}", "", query))
