"""Opens sources and sinks, if pyiceberg is installed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import RunError
from millstream.plan.nodes import SinkDef, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.connectors.iceberg.sink import IcebergSink
    from millstream.connectors.work_items import WorkStream


def open_source(
    spark: SparkSession, source: Source, base: Path, columns: Collection[str]
) -> WorkStream:
    _require_package(f"source {source.name}")
    from millstream.connectors.iceberg import source as iceberg_source

    return iceberg_source.open_source(spark, source, base, columns)


def open_sink(sink: SinkDef, base: Path) -> IcebergSink:
    _require_package(f"sink {sink.name}")
    from millstream.connectors.iceberg.sink import IcebergSink

    return IcebergSink.opened(sink, base)


def _require_package(owner: str) -> None:
    try:
        import pyiceberg  # noqa: F401
    except ImportError:
        raise RunError(
            "MS-RUN-ICEBERG-DRIVER",
            f"{owner} is an Iceberg table, and pyiceberg is not installed.",
            fix="Add it: pip install 'millstream[iceberg]'.",
        ) from None
