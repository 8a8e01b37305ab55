"""A connector for tests: files whose names begin with the partition that they are part of.

`p0-001.csv` is of the partition p0. The file `partitions` beside the job lists the partitions that
are known when the source is opened, one a line.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from millstream.connectors.file import source as file_source
from millstream.connectors.file.spec import SPEC as FILE
from millstream.connectors.work_items import ITEM, PARTITION, WorkStream
from millstream.plan.nodes import Source

SPEC = replace(
    FILE,
    name="partitioned",
    source="tests.run.partitioned_files:open_source",
    sink=None,
    table=None,
)


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],
    state: Path | None = None,
) -> WorkStream:
    stream = file_source.open_source(spark, source, base, columns, state)
    assert isinstance(stream, WorkStream)
    name = F.regexp_extract(ITEM, "([^/]+)-[^/]*$", 1)
    known = base / "partitions"
    return replace(
        stream,
        items=stream.items.withColumn(PARTITION, name),
        partitions=tuple(known.read_text().split()) if known.exists() else (),
    )
