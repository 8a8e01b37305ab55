"""The book's jobs and cases run on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.docs.test_docs import Block, chosen

from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Job, SinkDef, Source
from millstream.plan.nodes.traversal import references_of
from millstream.run.job import JobRun
from millstream.testing.case import ENGINES, Case, Input
from millstream.testing.load import load_file
from millstream.testing.runner import Result, run_cases
from millstream.testing.spark_runner import SparkRunner
from millstream.testing.tables import GivenTables

pytestmark = pytest.mark.slow


def no_rows(spark: SparkSession, source: Source) -> DataFrame:
    """A stream that a micro-batch finds empty: enough for Spark to resolve and run a query."""
    columns = (f"`{column.name}` {column.type}" for column in source.columns)
    stream = MemoryStream(spark, ", ".join(columns))
    stream.add()
    return stream.frame()


def no_rows_in_tables(block: Block, job: Job, folder: Path) -> GivenTables:
    """Tables in the place of files and databases that the book only speaks of."""
    inputs = {table.name: Input(((),)) for table in references_of(job)}
    return GivenTables(Case(str(block), block.text, block.page, inputs=inputs), folder)


@pytest.mark.parametrize("block", chosen("sql", "run"), ids=str)
def test_a_job_runs(block, spark, tmp_path):
    sinks: dict[str, MemorySink] = {}

    def open_sink(sink: SinkDef) -> MemorySink:
        return sinks.setdefault(sink.name, MemorySink())

    job = build_job(block.declared + block.text)
    tables = no_rows_in_tables(block, job, tmp_path / "given")
    job = tables.placed(job)
    run = JobRun(
        spark,
        job,
        tmp_path,
        tmp_path,
        sources=no_rows,
        sinks=open_sink,
        read_table=tables.read,
    )
    try:
        run.start({"processingTime": "0 seconds"})
        run.process_available()
        run.flush()
    finally:
        run.stop()
    assert {pipeline.sink.name for pipeline in job.pipelines} <= sinks.keys()
    assert [row for sink in sinks.values() for row in sink.rows()] == []


class Failures:
    """A report that keeps what failed."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def start(self, *_: object) -> None: ...

    def done(self, result: Result) -> None:
        if result.verdict == "failed":
            self.found.append(f"{result.case.name} [{result.engine}]: {result.detail}")

    def close(self, *_: object) -> None: ...


@pytest.mark.parametrize("block", chosen("yaml", "run"), ids=str)
def test_a_case_passes(block, spark, tmp_path):
    path = tmp_path / "a.test.yaml"
    path.write_text(block.text)
    failures = Failures()
    code = run_cases(load_file(path), SparkRunner(spark), ENGINES, failures)
    assert failures.found == []
    assert code == 0
