"""Iceberg tables in an SQL catalog on SQLite, and sinks and streams on them, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.connectors.iceberg.catalog import CatalogTable
from millstream.connectors.iceberg.log import SnapshotLog
from millstream.connectors.iceberg.sink import IcebergSink
from millstream.connectors.lake.version_stream import StreamSettings, VersionStream
from millstream.plan.nodes import SinkDef

SETTINGS = {"catalog.type": "sql", "catalog.uri": "sqlite:///cat.db", "catalog.warehouse": "wh"}


def catalog(folder: Path) -> Catalog:
    uri, warehouse = f"sqlite:///{folder}/cat.db", str(folder / "wh")
    return load_catalog("default", type="sql", uri=uri, warehouse=warehouse)


def sink_on(folder: Path, schema: pa.Schema, table: str = "db.t", **options: str) -> IcebergSink:
    """Returns a sink that is ready to write rows of a schema."""
    given = SETTINGS | {"table": table} | {k.replace("_", "."): v for k, v in options.items()}
    sink = IcebergSink.opened(SinkDef("out", "iceberg", tuple(given.items())), folder)
    sink._prepare(from_arrow_schema(schema))
    return sink


def table_rows(folder: Path, table: str = "db.t") -> list[tuple[Any, ...]]:
    """The rows of a table, as pyiceberg reads them."""
    found = catalog(folder).load_table(table).scan().to_arrow()
    return [tuple(row.values()) for row in found.to_pylist()]


def stream(
    folder: Path, start: str = "snapshot", value: int = 0, limit: int = 1000, **more: bool
) -> VersionStream:
    settings = {"type": "sql", "uri": f"sqlite:///{folder}/cat.db", "warehouse": str(folder / "wh")}
    target = CatalogTable("source s", "default", settings, "db.t")
    log = SnapshotLog(target, ignore_changes=more.get("ignore_changes", False))
    log.pause = 0.0
    return VersionStream(StreamSettings(start, value, limit, 2), log)
