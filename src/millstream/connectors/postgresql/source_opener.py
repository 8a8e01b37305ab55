"""Opens a PostgreSQL source, or reports that psycopg is not installed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import RunError
from millstream.plan.nodes import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.connectors.work_items import WorkStream


def open_source(
    spark: SparkSession, source: Source, base: Path, columns: Collection[str]
) -> WorkStream:
    try:
        from millstream.connectors.postgresql import source as postgresql_source
    except ImportError:
        raise RunError(
            "MS-RUN-POSTGRESQL-DRIVER",
            f"source {source.name} reads from PostgreSQL, which needs psycopg, and psycopg is not "
            "installed.",
            fix="Install it: pip install 'millstream[postgresql]'.",
        ) from None
    return postgresql_source.open_source(spark, source, base, columns)
