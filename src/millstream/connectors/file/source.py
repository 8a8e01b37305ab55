"""File source: the driver streams names of files, executors read them (`connectors/work_items.py`).

In a job, the driver lists the files itself and records in the checkpoint which ones a micro-batch
has (`item_stream.py`). A DataFrame of the Python API has its checkpoint where the program puts it,
so Spark lists its files and records them (`names.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.item_stream import MODIFIED, SETTINGS, FileItems, FileSettings
from millstream.connectors.file.names import (
    EVERY_FILE,
    TIMESTAMP,
    find_first_file,
    stream_file_names,
)
from millstream.connectors.file.options import FORMATS, Files, files_of
from millstream.connectors.file.row_counts import RowCounter
from millstream.connectors.file.text_file import UTF8
from millstream.connectors.paths import resolve
from millstream.connectors.python_source import register
from millstream.connectors.work_items import ITEM, WorkStream
from millstream.errors import PlanError, PropertyError
from millstream.plan.nodes import Source
from millstream.temporal import parse_span

RETENTION = "30d"


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],
    state: Path | None = None,
) -> DeferredFrame | WorkStream:
    """Returns the files of a source as work items, or rows if only Spark reads the format. `state`:
    the file of the log of files."""
    path = resolve(source.option("path"), base)
    _must_exist(source, path)
    schema = to_spark_schema(spark, source.columns)
    if source.option("format", "json").lower() not in FORMATS:
        options = EVERY_FILE | _options_of_spark(source)
        reader = spark.readStream.format(source.option("format").lower()).options(**options)
        rows = reader.schema(schema).load(path)
        if TIMESTAMP in columns and TIMESTAMP not in rows.columns:
            rows = rows.withColumn(TIMESTAMP, F.col("_metadata.file_modification_time"))
        return DeferredFrame.of(rows)
    files = files_of(source, path, schema)
    items = (
        stream_file_names(spark, path, {"ignoreMissingFiles": "true"} | _options_of_spark(source))
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
        item_columns={TIMESTAMP: TimestampType()},
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
        uuid4().hex,
        spark.sparkContext.defaultParallelism,
        most_files,
        most_rows,
        parse_span(source.option("deleted.retention", RETENTION)),
        RowCounter(
            source.option("format", "json").lower(),
            csv.form if csv else None,
            csv is not None and csv.header,
            getattr(files, "encoding", UTF8),
        ),
    )
    stream = spark.readStream.format(register(spark, FileItems))
    items = stream.option(SETTINGS, settings.encoded()).load()
    return items.select(ITEM, F.timestamp_micros(MODIFIED).alias(TIMESTAMP))


def _options_of_spark(source: Source) -> dict[str, str]:
    """Returns the options of Spark's file source, which lists the files."""
    if source.option("max.rows.per.batch"):
        raise PropertyError(
            "MS-PROP-FILE",
            f"{source.name}: 'max.rows.per.batch' is not supported for ORC files, and needs the "
            "checkpoint of a job, which a DataFrame of the Python API does not have.",
            fix="Use 'max.files.per.batch', another format, or .write(…) instead of .to_df().",
            place=source.place,
        )
    options = {}
    if limit := source.option("max.files.per.batch"):
        options["maxFilesPerTrigger"] = limit
    if source.option("recursive") == "true":
        options["recursiveFileLookup"] = "true"
    return options


def _must_exist(source: Source, path: str) -> None:
    if "://" not in path and not any(ch in path for ch in "*?[{") and not Path(path).exists():
        raise PlanError(
            "MS-PLAN-NO-PATH",
            f"source {source.name} reads {path}, which does not exist.",
            fix="Create the folder (files may be added later), or correct 'path'.",
            place=source.place,
        )
