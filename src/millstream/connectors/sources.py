"""Streams that come in: one function a connector, from a plan's Source to the rows of a stream."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField

from millstream.connectors.csv_stream import read_csv
from millstream.connectors.declared import schema_of
from millstream.connectors.malformed import BAD
from millstream.connectors.paths import resolve
from millstream.connectors.rows import Rows
from millstream.errors import PlanError, PropertyError
from millstream.plan.nodes import Source

TEXT_FORMATS = ("csv", "json")


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
    by = source.option("reader", "auto")
    if source.option("max.rows.per.batch"):
        raise PropertyError(
            "MS-PROP-CONNECTOR",
            f"source {source.name} reads files, which cannot be cut by rows.",
            fix="Use 'max.files.per.batch'.",
            place=source.place,
        )
    if by == "arrow" and form not in ("csv", "parquet"):
        raise PropertyError(
            "MS-PROP-READER",
            f"the reader 'arrow' of source {source.name} reads CSV and Parquet, not {form}.",
            fix="Leave 'reader' out: Spark reads the files then.",
            place=source.place,
        )
    _must_exist(source, path)
    if by == "arrow" and form == "csv":
        return read_csv(spark, source, path, reading.mentioned)
    schema = schema_of(spark, source.columns)
    reader = spark.readStream.format(form)
    if form in TEXT_FORMATS:
        schema.add(StructField(BAD, StringType()))
        reader = reader.options(mode="PERMISSIVE", columnNameOfCorruptRecord=BAD)
        if source.option("timestamp.format"):
            reader = reader.option("timestampFormat", source.option("timestamp.format"))
    if form == "csv":
        header = source.option("header", "true")
        # Were columns pruned, a bad value in one that nobody reads would pass unseen.
        reader = reader.options(header=header, enforceSchema="false", columnPruning="false")
        reader = reader.option("sep", source.option("delimiter", ","))
    if limit := source.option("max.files.per.batch"):
        reader = reader.option("maxFilesPerTrigger", limit)
    if by == "spark":
        reader = reader.option("reader", "spark")  # which no packer knows how to obey
    rows = reader.schema(schema).load(path)
    return Rows.of(_read_whole(rows, source) if form in TEXT_FORMATS else rows)


def _read_whole(rows: DataFrame, source: Source) -> DataFrame:
    """Spark parses only columns that are read, and so sees no bad value in another.

    The question reads them all; what its answer is makes no difference.
    """
    absent = (F.col(f"`{column.name}`").isNull() for column in source.columns)
    bad = F.when(reduce(Column.__and__, absent), F.concat(F.col(BAD), F.lit(""))).otherwise(
        F.col(BAD)
    )
    return rows.withColumn(BAD, bad)


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
