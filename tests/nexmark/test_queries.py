"""The queries' texts: all there, planned, and bounded by what the generator knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.nexmark.options import Options
from bench.nexmark.raw_spark import NOT_POSSIBLE, SPARK_QUERIES
from bench.nexmark.suite import HERE, QUERIES, job_of, variables
from bench.nexmark.write import Data

from millstream.plan.nodes.traversal import sources_of

DATA = Data(Path("data"), Options(1_000), 1, "parquet")


def test_there_are_q0_to_q22_each_with_an_oracle():
    assert list(QUERIES) == [f"q{number}" for number in range(23)]
    for folder in ("queries", "oracle"):
        names = {path.stem for path in (HERE / folder).glob("*.sql")}
        assert names - {"sources"} == set(QUERIES)


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_a_query_is_planned_and_reads_what_it_says(query):
    job = job_of(query, DATA, Path("out"), files=1, engine="auto")
    (pipeline,) = job.pipelines
    assert pipeline.name == query.name
    assert {source.name for source in sources_of(pipeline.root)} == set(query.reads)


def test_every_name_that_texts_leave_open_is_filled():
    text = "".join(query.sql() for query in QUERIES.values())
    for name in variables(DATA, Path("out")):
        assert f"${{{name}}}" in text


def test_every_query_has_a_form_in_spark_or_a_reason():
    assert set(SPARK_QUERIES) | set(NOT_POSSIBLE) == set(QUERIES)
    assert not set(SPARK_QUERIES) & set(NOT_POSSIBLE)
