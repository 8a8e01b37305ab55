"""Runs test cases on Spark: batch i of each input arrives in micro-batch i."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.connectors.sink import Sink
from millstream.errors import HarnessError, MillstreamError, PlanError
from millstream.plan.facts.pipeline import derive_job_facts
from millstream.plan.nodes import Engine, Job, SinkDef, Source
from millstream.plan.nodes.traversal import sources_of
from millstream.run.job import JobRun
from millstream.testing import case as cases
from millstream.testing.arrow_rows import arrow_rows
from millstream.testing.case import Case
from millstream.testing.diff import Table
from millstream.testing.runner import Outcome
from millstream.testing.sources import case_job, given_input, rows_of, types_of
from millstream.testing.tables import GivenTables


@dataclass(slots=True)
class SparkRunner:
    """Runs all cases in one Spark session. `folder` has the files of cases; None: the system's."""

    spark: SparkSession
    folder: Path | None = None

    def run(self, case: Case, engine: cases.Engine) -> Outcome:
        try:
            job = _with_engine(case_job(case), engine)
        except MillstreamError as error:
            return Outcome(error=error)
        try:
            derive_job_facts(job)
        except PlanError as error:
            if error.code == "MS-PLAN-ENGINE" and case.error != error.code:
                return Outcome(unsupported=str(error))
            return Outcome(error=error)
        with tempfile.TemporaryDirectory(
            dir=self.folder,
            prefix="millstream-test-",
            # Spark may still write to the folder shortly after a query was stopped.
            ignore_cleanup_errors=True,
        ) as folder:
            return _Run(self.spark, case, job, Path(folder)).outcome()


def _with_engine(job: Job, engine: cases.Engine) -> Job:
    pipelines = tuple(replace(each, engine=Engine(engine)) for each in job.pipelines)
    return replace(job, pipelines=pipelines)


@dataclass(slots=True)
class _Run:
    spark: SparkSession
    case: Case
    job: Job
    folder: Path
    sinks: dict[str, MemorySink] = field(default_factory=dict)
    streams: dict[str, MemoryStream] = field(default_factory=dict)
    tables: GivenTables = field(init=False)

    def __post_init__(self) -> None:
        self.tables = GivenTables(self.case, self.folder / "tables")

    def outcome(self) -> Outcome:
        replace_lookup_tables = self.tables.replace_lookup_tables(self.job)
        run = JobRun(
            self.spark,
            replace_lookup_tables,
            checkpoint=self.folder / "checkpoint",
            base=self.case.path.parent,
            sources=self._source,
            sinks=self._sink,
            groups=self._groups(),
            read_table=self.tables.read,
            max_ahead=None,  # times of a case are not related to the current time
        )
        try:
            run.start({"processingTime": "0 seconds"})
            run.process_available()
            for number in range(1, self._steps()):
                self._arrive(number, run)
                run.process_available()
            if self.case.silence is not None:
                # The first time starts the idle timeout of operators without input so far.
                now = time.time_ns() // 1000
                for later in (0, self.case.silence):
                    run.send_processing_time(now + later)
                    run.process_available()
            if self.case.end == "flush":
                run.flush()
            run.raise_failure()
        except MillstreamError as error:
            return Outcome(error=error)
        finally:
            run.stop()
        for each in run.running:
            if each.engine is Engine.COLUMNAR and (errors := each.ledger_store.ledger.errors):
                raise HarnessError(
                    "MS-TEST-ACCOUNT", f"the ledger is not balanced: {'; '.join(errors)}."
                )
        return Outcome(tables={name: _table(sink) for name, sink in self.sinks.items()})

    def _groups(self) -> int | None:
        """Returns the number of key groups; rejects settings that cannot be set for one case."""
        for name in self.case.settings:
            if name not in ("key_groups", "engine", "checkpoint", "trigger"):
                raise HarnessError(
                    "MS-TEST-SETTING",
                    f"the setting {name!r} cannot be changed for one case.",
                    fix="Remove it; a test case can set 'key_groups'.",
                )
        chosen = self.case.settings.get("key_groups") or self.job.setting("key_groups")
        return int(chosen) if chosen else None

    def _steps(self) -> int:
        """Returns the number of micro-batches that run one by one: tables change between them."""
        if not self.tables.has_changes:
            return 1
        return max(len(given.batches) for given in self.case.inputs.values())

    def _arrive(self, number: int, run: JobRun) -> None:
        self.tables.advance_to(number, run)
        for pipeline in self.job.pipelines:
            for source in sources_of(pipeline.root):
                if self.streams[source.name].added == number:  # two pipelines may read it
                    self._add(source, number)

    def _source(self, spark: SparkSession, source: Source) -> DataFrame:
        if source.name not in self.streams:
            types = types_of(source, given_input(self.case, source))
            schema = ", ".join(f"`{name}` {type_}" for name, type_ in types.items())
            folder = self.folder / "inputs" / source.name
            self.streams[source.name] = MemoryStream(spark, schema, folder)
            together = 1 if self.tables.has_changes else len(given_input(self.case, source).batches)
            for number in range(together):
                self._add(source, number)
        return self.streams[source.name].frame()

    def _add(self, source: Source, number: int) -> None:
        """Adds the batch `number` of an input to its stream."""
        given = given_input(self.case, source)
        rows = given.batches[number] if number < len(given.batches) else []
        stream = self.streams[source.name]
        schema = to_arrow_schema(stream.schema, timezone="UTC")
        stream.add(arrow_rows(rows_of(rows, source, given), schema, source.name))

    def _sink(self, sink: SinkDef) -> Sink:
        return self.sinks.setdefault(sink.name, MemorySink())


def _table(sink: MemorySink) -> Table:
    rows: list[dict[str, Any]] = sink.rows()
    return Table(tuple(sink.columns), tuple(rows))
