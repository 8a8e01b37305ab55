"""File source: Spark streams file names, executors read the files (`connectors/work_items.py`)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.file.names import EVERY_FILE, find_first_file, stream_file_names
from millstream.connectors.file.options import FORMATS, files_of
from millstream.connectors.paths import resolve
from millstream.connectors.work_items import ItemCheck, ReportedItems, WorkStream
from millstream.errors import PlanError
from millstream.plan.nodes import Source

_TEXT = ("csv", "json")  # an empty file is valid and has no rows


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
) -> DeferredFrame | WorkStream:
    """Returns the files of a source as work items, or rows if only Spark reads the format."""
    form = source.option("format", "json").lower()
    path = resolve(source.option("path"), base)
    limit = source.option("max.files.per.batch")
    admitted = {"maxFilesPerTrigger": limit} if limit else {}
    _must_exist(source, path)
    schema = to_spark_schema(spark, source.columns)
    if form not in FORMATS:
        reader = spark.readStream.format(form).options(**EVERY_FILE, **admitted)
        return DeferredFrame.of(reader.schema(schema).load(path))
    files = files_of(source, path, schema)
    # Spark skips files that are deleted before the batch runs; `run.missing_files` finds them.
    names = stream_file_names(spark, path, {"ignoreMissingFiles": "true"} | admitted)
    remote = "://" in path and not path.startswith("file:")
    return WorkStream(
        names,
        files,
        schema,
        {column.name: column.type for column in files.columns},
        None if remote else find_first_file(Path(files.base)),
        ItemCheck(files.base, ReportedItems.of(spark), form in _TEXT),
    )


def _must_exist(source: Source, path: str) -> None:
    if "://" not in path and not any(ch in path for ch in "*?[{") and not Path(path).exists():
        raise PlanError(
            "MS-PLAN-NO-PATH",
            f"source {source.name} reads {path}, which does not exist.",
            fix="Create the folder (files may be added later), or correct 'path'.",
            place=source.place,
        )
