"""Completes the streams that replace the sources of a job: inputs of tests, empty streams."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millstream.plan.nodes import Source
from millstream.plan.resolve.system_columns import TIMESTAMP, source_column_type


def with_system_columns(frame: DataFrame, source: Source) -> DataFrame:
    """Adds the system columns of the source's connector that a stream does not have: the arrival
    time is the processing time, others are NULL."""
    known = {name.lower() for name in frame.columns}
    for name, _ in source.system_columns:
        if name not in known:
            value = F.current_timestamp() if name == TIMESTAMP else F.lit(None)
            frame = frame.withColumn(name, value.cast(source_column_type(name)))
    return frame
