"""The jobs and test cases of the book run on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.docs.test_docs import Block, tagged_blocks

from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Job, SinkDef, Source
from millstream.plan.nodes.traversal import reference_tables_of
from millstream.run.job import JobRun
from millstream.testing.case import ENGINES, Case, Input
from millstream.testing.load import load_file
from millstream.testing.runner import Result, run_cases
from millstream.testing.spark_runner import SparkRunner
from millstream.testing.tables import GivenTables

pytestmark = pytest.mark.slow


def empty_source(spark: SparkSession, source: Source) -> DataFrame:
    """Returns a stream without rows, so that Spark can resolve and run a query."""
    columns = (f"`{column.name}` {column.type}" for column in source.columns)
    stream = MemoryStream(spark, ", ".join(columns))
    stream.add()
    return stream.frame()


def empty_tables(block: Block, job: Job, folder: Path) -> GivenTables:
    """Returns empty tables that replace the files and databases of the book's examples."""
    inputs = {table.name: Input(((),)) for table in reference_tables_of(job)}
    return GivenTables(Case(str(block), block.text, block.page, inputs=inputs), folder)


@pytest.mark.parametrize("block", tagged_blocks("sql", "run"), ids=str)
def test_a_job_runs(block, spark, tmp_path):
    sinks: dict[str, MemorySink] = {}

    def open_sink(sink: SinkDef) -> MemorySink:
        return sinks.setdefault(sink.name, MemorySink())

    job = build_job(block.declared + block.text)
    tables = empty_tables(block, job, tmp_path / "given")
    job = tables.replace_lookup_tables(job)
    run = JobRun(
        spark,
        job,
        tmp_path,
        tmp_path,
        sources=empty_source,
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
    """A report that collects failed cases."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def start(self, *_: object) -> None: ...

    def done(self, result: Result) -> None:
        if result.verdict == "failed":
            self.found.append(f"{result.case.name} [{result.engine}]: {result.detail}")

    def close(self, *_: object) -> None: ...


@pytest.mark.parametrize("block", tagged_blocks("yaml", "run"), ids=str)
def test_a_case_passes(block, spark, tmp_path):
    path = tmp_path / "a.test.yaml"
    path.write_text(block.text)
    failures = Failures()
    code = run_cases(load_file(path), SparkRunner(spark), ENGINES, failures)
    assert failures.found == []
    assert code == 0
