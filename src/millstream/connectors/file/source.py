"""File source: Spark streams file names, executors read the files (`connectors/work_items.py`)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.connectors.declared_columns import schema_of
from millstream.connectors.deferred_frame import Rows
from millstream.connectors.file.names import EVERY_FILE, file_names, first_file
from millstream.connectors.file.options import FORMATS, files_of
from millstream.connectors.paths import resolve
from millstream.connectors.work_items import ItemCheck, ReportedItems, WorkStream
from millstream.errors import PlanError
from millstream.plan.nodes import Source

_TEXT = ("csv", "json")  # an empty file of these has no rows; of others, it is not valid


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
) -> Rows | WorkStream:
    """Returns the files of a source; those of a format that only Spark reads, as rows."""
    form = source.option("format", "json").lower()
    path = resolve(source.option("path"), base)
    limit = source.option("max.files.per.batch")
    admitted = {"maxFilesPerTrigger": limit} if limit else {}
    _must_exist(source, path)
    schema = schema_of(spark, source.columns)
    if form not in FORMATS:
        reader = spark.readStream.format(form).options(**EVERY_FILE, **admitted)
        return Rows.of(reader.schema(schema).load(path))
    files = files_of(source, path, schema)
    # Spark skips files that are deleted before the batch runs; `run.missing_files` finds them.
    names = file_names(spark, path, {"ignoreMissingFiles": "true"} | admitted)
    remote = "://" in path and not path.startswith("file:")
    return WorkStream(
        names,
        files,
        schema,
        {column.name: column.type for column in files.columns},
        None if remote else first_file(Path(files.base)),
        ItemCheck(files.base, ReportedItems.of(spark), form in _TEXT),
    )


def _must_exist(source: Source, path: str) -> None:
    if "://" not in path and not any(ch in path for ch in "*?[{") and not Path(path).exists():
        raise PlanError(
            "MS-PLAN-NO-PATH",
            f"source {source.name} reads {path}, which does not exist.",
            fix="Make the folder (files may come later), or mend 'path'.",
            place=source.place,
        )
