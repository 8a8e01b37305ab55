"""Every query on Spark gives the oracle's rows; .ci/run does it at this small size."""

from __future__ import annotations

import pytest
from bench.nexmark.suite import QUERIES
from bench.nexmark.verify import SHAPES, verify

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_a_query_gives_the_rows_of_the_oracle(query, spark):
    shape = SHAPES["out-of-order"]
    (verdict,) = verify(spark, [query], [1], [shape], 4_000, ["columnar"], lambda _: None)
    assert (verdict.state, verdict.detail) == ("passed", "")


@pytest.mark.parametrize("name", ["q1", "q5", "q8", "q14", "q18", "q20", "q21"])
def test_a_query_gives_the_rows_of_the_oracle_from_csv_read_by_arrow(name, spark):
    shape = SHAPES["over-midnight"]
    assert shape.form == "csv"
    (verdict,) = verify(spark, [QUERIES[name]], [3], [shape], 4_000, ["columnar"], lambda _: None)
    assert (verdict.state, verdict.detail) == ("passed", "")


@pytest.mark.parametrize("name", ["q3", "q11", "q20"])
def test_the_native_engine_gives_the_same_rows(name, spark):
    shape = SHAPES["in-order"]
    (verdict,) = verify(spark, [QUERIES[name]], [2], [shape], 4_000, ["native"], lambda _: None)
    assert (verdict.state, verdict.detail) == ("passed", "")
