"""Opens a Delta table as a stream of data files that executors read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.delta.failures import described, table_name
from millstream.connectors.delta.log import TableLog
from millstream.connectors.delta.version_source import SETTINGS, DeltaVersions, TableSettings
from millstream.connectors.file.options import arrow_type
from millstream.connectors.file.values import Column
from millstream.connectors.lake.columns import check_declared
from millstream.connectors.lake.properties import stream_settings
from millstream.connectors.lake.reader import LakeFiles
from millstream.connectors.paths import resolve
from millstream.connectors.python_source import register
from millstream.connectors.work_items import WorkStream
from millstream.plan.nodes import Source


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
) -> WorkStream:
    schema = to_spark_schema(spark, source.columns)
    settings = _settings(source, base, spark.sparkContext.defaultParallelism)
    sample = _check_table(settings.owner, settings.path, schema)
    stream = spark.readStream.format(register(spark, DeltaVersions))
    declared = tuple(
        Column(each.name, arrow_type(each.dataType), each.dataType.simpleString().upper())
        for each in schema
    )
    return WorkStream(
        stream.option(SETTINGS, settings.encoded()).load(),
        LakeFiles(declared),
        schema,
        {each.name: each.type for each in declared},
        sample,
    )


def _settings(source: Source, base: Path, tasks: int) -> TableSettings:
    return TableSettings(
        f"source {source.name}",
        resolve(source.option("path"), base).rstrip("/"),
        source.option("ignore.changes", "false").lower() == "true",
        stream_settings(source, tasks),
    )


def _check_table(owner: str, path: str, schema: StructType) -> str | None:
    """Checks the declared columns; returns a work item as a sample."""
    log = TableLog(owner, path)
    _, version = log.describe()
    with described(owner, path):
        known = pa.schema(DeltaTable(path, version=version).schema().to_arrow())
    check_declared(table_name(owner, path), schema, known)
    files = log.snapshot(version)
    return max(files, key=lambda each: each.size).encoded() if files else None
