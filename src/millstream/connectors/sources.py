"""Streams that come in: one function a connector, from a plan's Source to the rows of a stream."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from millstream.connectors.declared import schema_of
from millstream.connectors.file.names import EVERY_FILE
from millstream.connectors.file.options import FORMATS
from millstream.connectors.file.source import read_files
from millstream.connectors.paths import resolve
from millstream.connectors.rows import Rows
from millstream.errors import PlanError, PropertyError
from millstream.plan.nodes import Source


@dataclass(frozen=True, slots=True)
class Reading:
    """Relative paths are relative to `base`; columns that are not `mentioned` may be left out."""

    base: Path
    mentioned: Collection[str]


def read_stream(
    spark: SparkSession, source: Source, base: Path, mentioned: Collection[str] | None = None
) -> Rows:
    """The source's stream."""
    names = [column.name for column in source.columns] if mentioned is None else mentioned
    return _READERS[source.connector](spark, source, Reading(base, names))


def _files(spark: SparkSession, source: Source, reading: Reading) -> Rows:
    form = source.option("format", "json").lower()
    path = resolve(source.option("path"), reading.base)
    if source.option("max.rows.per.batch"):
        raise PropertyError(
            "MS-PROP-CONNECTOR",
            f"source {source.name} reads files, which cannot be cut by rows.",
            fix="Use 'max.files.per.batch'.",
            place=source.place,
        )
    _must_exist(source, path)
    if form in FORMATS:
        return read_files(spark, source, path, reading.mentioned)
    reader = spark.readStream.format(form).options(**EVERY_FILE)
    if limit := source.option("max.files.per.batch"):
        reader = reader.option("maxFilesPerTrigger", limit)
    return Rows.of(reader.schema(schema_of(spark, source.columns)).load(path))


def _must_exist(source: Source, path: str) -> None:
    if "://" not in path and not any(ch in path for ch in "*?[{") and not Path(path).exists():
        raise PlanError(
            "MS-PLAN-NO-PATH",
            f"source {source.name} reads {path}, which does not exist.",
            fix="Make the folder (files may come later), or mend 'path'.",
            place=source.place,
        )


def _rate(spark: SparkSession, source: Source, reading: Reading) -> Rows:  # noqa: ARG001
    """Rows that make themselves: a running number and the time, under the names declared."""
    rows = spark.readStream.format("rate").option(
        "rowsPerSecond", source.option("rows.per.second", "10")
    )
    made = rows.load()
    columns = []
    for column in source.columns:
        is_time = (column.type or "").lower().startswith("timestamp")
        made_column = F.col("timestamp") if is_time else F.col("value")
        columns.append(made_column.cast(column.type or "bigint").alias(column.name))
    return Rows.of(made.select(*columns))


_READERS: dict[str, Callable[[SparkSession, Source, Reading], Rows]] = {
    "file": _files,
    "rate": _rate,
}
