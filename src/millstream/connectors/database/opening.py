"""Opens sources, sinks and lookups, if SQLAlchemy is installed."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import RunError
from millstream.plan.nodes import SinkDef, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.connectors.database.sink import DatabaseSink
    from millstream.connectors.work_items import WorkStream


def open_source(
    spark: SparkSession, source: Source, base: Path, columns: Collection[str]
) -> WorkStream:
    require_package(f"source {source.name}")
    from millstream.connectors.database import source as database_source

    return database_source.open_source(spark, source, base, columns)


def open_sink(sink: SinkDef, base: Path) -> DatabaseSink:
    require_package(f"sink {sink.name}")
    from millstream.connectors.database.sink import DatabaseSink

    return DatabaseSink.opened(sink, base)


def require_package(owner: str) -> None:
    if find_spec("sqlalchemy") is None:
        raise RunError(
            "MS-RUN-DATABASE-DRIVER",
            f"{owner} is in a database, and SQLAlchemy is not installed.",
            fix="Add it, and the driver of the database: pip install 'millstream[database]'.",
        )
