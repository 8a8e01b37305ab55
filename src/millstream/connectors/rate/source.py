"""The rate source: generates a sequence number and the current time as the declared columns."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.plan.nodes import Source


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,  # noqa: ARG001
    columns: Collection[str],  # noqa: ARG001
) -> DataFrame:
    rows = spark.readStream.format("rate").option(
        "rowsPerSecond", source.option("rows.per.second", "10")
    )
    generated = rows.load()
    selected = []
    for column in source.columns:
        is_time = (column.type or "").lower().startswith("timestamp")
        value = F.col("timestamp") if is_time else F.col("value")
        selected.append(value.cast(column.type or "bigint").alias(column.name))
    return generated.select(*selected)
