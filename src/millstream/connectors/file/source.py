"""File source: the driver streams names of files, executors read them (`connectors/work_items.py`).

In a job, the driver lists the files itself and records in the checkpoint which ones a micro-batch
has (`item_stream.py`). A DataFrame of the Python API has its checkpoint where the program puts it,
so Spark lists its files and records them (`names.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.item_stream import SETTINGS, FileItems, FileSettings
from millstream.connectors.file.names import find_first_file, stream_file_names
from millstream.connectors.file.options import Files, files_of
from millstream.connectors.file.row_counts import RowCounter
from millstream.connectors.file.text_file import UTF8
from millstream.connectors.paths import resolve
from millstream.connectors.python_source import register
from millstream.connectors.work_items import WorkStream
from millstream.errors import PlanError, PropertyError
from millstream.plan.nodes import Source
from millstream.temporal import parse_span

FORGET_AFTER = "30d"


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
    state: Path | None,
) -> WorkStream:
    """Returns the files of a source as work items. `state`: the file of their log."""
    path = resolve(source.option("path"), base)
    _must_exist(source, path)
    schema = to_spark_schema(spark, source.columns)
    files = files_of(source, path, schema)
    items = (
        _listed_by_spark(spark, source, path)
        if state is None
        else _listed_by_driver(spark, source, path, files, state)
    )
    remote = "://" in path and not path.startswith("file:")
    return WorkStream(
        items,
        files,
        schema,
        {column.name: column.type for column in files.columns},
        None if remote else find_first_file(Path(files.base)),
    )


def _listed_by_driver(
    spark: SparkSession, source: Source, path: str, files: Files, state: Path
) -> DataFrame:
    csv = files if isinstance(files, CsvFiles) else None
    most_files, most_rows = (
        int(value) if value else None
        for value in map(source.option, ("max.files.per.batch", "max.rows.per.batch"))
    )
    settings = FileSettings(
        path,
        source.option("recursive") == "true",
        str(state),
        spark.sparkContext.defaultParallelism,
        most_files,
        most_rows,
        parse_span(source.option("forget.deleted.after", FORGET_AFTER)),
        RowCounter(
            source.option("format", "json").lower(),
            csv.form if csv else None,
            csv is not None and csv.header,
            getattr(files, "encoding", UTF8),
        ),
    )
    stream = spark.readStream.format(register(spark, FileItems))
    return stream.option(SETTINGS, settings.encoded()).load()


def _listed_by_spark(spark: SparkSession, source: Source, path: str) -> DataFrame:
    if source.option("max.rows.per.batch"):
        raise PropertyError(
            "MS-PROP-FILE",
            f"{source.name}: 'max.rows.per.batch' needs the checkpoint of a job, which a DataFrame "
            "of the Python API does not have.",
            fix="Write with .write(…) instead of .to_df(), or use 'max.files.per.batch'.",
            place=source.place,
        )
    options = {"ignoreMissingFiles": "true"}
    if limit := source.option("max.files.per.batch"):
        options["maxFilesPerTrigger"] = limit
    if source.option("recursive") == "true":
        options["recursiveFileLookup"] = "true"
    return stream_file_names(spark, path, options)


def _must_exist(source: Source, path: str) -> None:
    if "://" not in path and not any(ch in path for ch in "*?[{") and not Path(path).exists():
        raise PlanError(
            "MS-PLAN-NO-PATH",
            f"source {source.name} reads {path}, which does not exist.",
            fix="Create the folder (files may be added later), or correct 'path'.",
            place=source.place,
        )
