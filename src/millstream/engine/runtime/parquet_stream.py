"""Recognises a streaming DataFrame that only reads Parquet files."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def parquet_options(frame: DataFrame) -> dict[str, str] | None:
    """How Spark was told to read a stream, if it is Parquet files and nothing is done to them."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):  # it tells no plans
        return None
    jvm_frame: Any = frame._jdf
    plan = jvm_frame.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != "StreamingRelation":
        return None
    source = plan.dataSource()
    if source.className() != "parquet":
        return None
    options, entries = {}, source.options().iterator()
    while entries.hasNext():
        entry = entries.next()
        options[entry.productElement(0)] = entry.productElement(1)
    return options
