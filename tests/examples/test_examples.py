"""The test cases of the examples are well formed, and batch joins give the same rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest
import sqlglot

from millstream.errors import MillstreamError
from millstream.testing.case import Case
from millstream.testing.diff import Table, compare
from millstream.testing.load import load
from millstream.testing.sources import case_job
from millstream.testing.values import fill_rows

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES = load([EXAMPLES])
# With complete input and no late rows, a streaming join equals a batch join. Cases with this
# syntax of streams are not compared.
STREAM_ONLY = re.compile(
    r"CREATE (SOURCE|TABLE)|WITHIN|WINDOW|EMIT|SYSTEM_TIME|state\.", re.IGNORECASE
)
JOINS = ("interval_joins", "joins", "tests")
COMPARABLE = [
    case
    for case in CASES
    if case.expect
    and case.end == "flush"
    and case.path.parts[-2] in JOINS
    and not case.path.name.startswith("late_")
    and not STREAM_ONLY.search(case.sql)
]


def name(case: Case) -> str:
    return case.path.name.removesuffix(".test.yaml")


def test_names_are_unique():
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []


def is_rejected(case: Case) -> bool:
    """Whether planning rejects the job. Codes MS-RUN-… are errors of running jobs."""
    return case.error is not None and not case.error.startswith("MS-RUN-")


@pytest.mark.parametrize("case", [case for case in CASES if not is_rejected(case)], ids=name)
def test_a_job_can_be_planned(case):
    job = case_job(case)
    sinks = {pipeline.sink.name for pipeline in job.pipelines}
    assert sinks & case.expect.keys() if case.expect else sinks


@pytest.mark.parametrize("case", [case for case in CASES if is_rejected(case)], ids=name)
def test_a_rejected_job_fails_to_plan_with_its_code(case):
    with pytest.raises(MillstreamError) as caught:
        case_job(case)
    assert caught.value.code == case.error, str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_inputs_fit_their_schema(case):
    for source, given in case.inputs.items():
        for batch in given.batches:
            if given.types:
                fill_rows(batch, given.types, source, text=given.text)


def test_enough_cases_are_comparable():
    assert len(COMPARABLE) >= 20


@pytest.mark.parametrize("case", COMPARABLE, ids=name)
def test_a_batch_join_gives_the_expected_rows(case):
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for source, given in case.inputs.items():
            declared = ", ".join(f"{column} {type_}" for column, type_ in given.types.items())
            declared = re.sub(r"\btimestamp\b", "timestamptz", declared)
            database.execute(f"CREATE TABLE {source} ({declared})")
            rows = [
                row
                for batch in given.batches
                for row in fill_rows(batch, given.types, source, text=given.text)
            ]
            marks = ", ".join("?" for _ in given.types)
            database.executemany(f"INSERT INTO {source} VALUES ({marks})", rows)
        for statement in filter(str.strip, case.sql.split(";")):
            query = re.sub(r"CREATE SINK \w+ AS", "", statement)
            query = re.sub(r"CREATE STREAM (\w+) AS", r"CREATE VIEW \1 AS", query)
            [query] = sqlglot.transpile(query, read="spark", write="duckdb")
            result = database.execute(query)
        columns = tuple(column[0] for column in result.description or ())
        actual = [dict(zip(columns, row, strict=True)) for row in result.fetchall()]
    [(sink, expected)] = case.expect.items()
    diff = compare(sink, expected, Table(columns, tuple(actual)))
    assert not diff, str(diff)
