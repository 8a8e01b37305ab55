"""Opens sources and sinks, if deltalake is installed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import RunError
from millstream.plan.nodes import SinkDef, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.connectors.delta.sink import DeltaSink
    from millstream.connectors.work_items import WorkStream


def open_source(
    spark: SparkSession, source: Source, base: Path, columns: Collection[str]
) -> WorkStream:
    require_package(f"source {source.name}")
    from millstream.connectors.delta import source as delta_source

    return delta_source.open_source(spark, source, base, columns)


def open_sink(sink: SinkDef, base: Path) -> DeltaSink:
    require_package(f"sink {sink.name}")
    from millstream.connectors.delta.sink import DeltaSink

    return DeltaSink.opened(sink, base)


def require_package(owner: str) -> None:
    try:
        import deltalake  # noqa: F401
    except ImportError:
        raise RunError(
            "MS-RUN-DELTA-DRIVER",
            f"{owner} is a Delta table, and deltalake is not installed.",
            fix="Add it: pip install 'millstream[delta]'.",
        ) from None
