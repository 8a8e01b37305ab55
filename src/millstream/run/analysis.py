"""Lets Spark's analyzer verify a job, without reading data."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.connectors.work_items import CHANGE
from millstream.engine.runtime.jvm import active_session
from millstream.engine.runtime.session import session
from millstream.plan.nodes import Job, ReferenceTable, Source
from millstream.run.job import JobRun
from millstream.run.settings import RunSettings
from millstream.run.tables import JobTables


class UnreadTables(JobTables):
    """The tables of a job of which only the declared columns are known."""

    def static_frame(  # workers read the folder
        self,
        table: ReferenceTable,  # noqa: ARG002
        keys: tuple[str, ...],  # noqa: ARG002
    ) -> DataFrame | None:
        return None


def analyze_job(job: Job, settings: RunSettings) -> None:
    """Compiles all queries over empty sources and checks their sinks; raises the first error."""
    with TemporaryDirectory(prefix="millstream-") as folder:
        before = active_session()
        spark = before or session(dict(settings.spark), 1, Path(folder) / "spark.log", ends=True)
        try:
            analyze_queries(spark, job, Path(folder) / "checkpoint", settings.base)
        finally:
            if before is None:
                spark.stop()


def analyze_queries(spark: SparkSession, job: Job, checkpoint: Path, base: Path) -> None:
    run = JobRun(spark, job, checkpoint, base, sources=empty_stream)
    run.tables = UnreadTables(spark, checkpoint, base)
    run.prepare()
    run.raise_failure()


def empty_stream(spark: SparkSession, source: Source) -> DataFrame:
    """Returns a stream with the columns of a source, which is never started."""
    columns = [F.lit(None).cast(c.type or "void").alias(c.name) for c in source.columns]
    if source.retracts:
        columns.append(F.lit(0).cast("byte").alias(CHANGE))
    return spark.readStream.format("rate").load().select(*columns)
