"""Opens an Iceberg table as a stream of data files that executors read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyiceberg.table import Table
from pyspark.sql import SparkSession

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.options import arrow_type
from millstream.connectors.file.values import Column
from millstream.connectors.iceberg.arrow_types import arrow_schema
from millstream.connectors.iceberg.catalog import CatalogTable
from millstream.connectors.iceberg.failures import feature_error, table_name
from millstream.connectors.iceberg.settings import catalog_settings
from millstream.connectors.iceberg.version_source import SETTINGS, IcebergSnapshots, TableSettings
from millstream.connectors.lake.columns import check_declared
from millstream.connectors.lake.properties import stream_settings
from millstream.connectors.lake.reader import LakeFiles
from millstream.connectors.python_source import register
from millstream.connectors.work_items import WorkStream
from millstream.plan.nodes import Source


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
) -> WorkStream:
    schema = to_spark_schema(spark, source.columns)
    target = CatalogTable(
        f"source {source.name}",
        source.option("catalog", "default"),
        catalog_settings(source, base),
        source.option("table"),
    )
    settings = TableSettings(
        target,
        source.option("ignore.changes", "false").lower() == "true",
        stream_settings(source, spark.sparkContext.defaultParallelism),
    )
    log = settings.log
    table = log.table()
    check_declared(table_name(target.owner, target.table), schema, arrow_schema(table))
    reject_renamed_columns(target, table)
    files = log.snapshot(log.describe()[1])
    declared = tuple(
        Column(each.name, arrow_type(each.dataType), each.dataType.simpleString().upper())
        for each in schema
    )
    stream = spark.readStream.format(register(spark, IcebergSnapshots))
    return WorkStream(
        stream.option(SETTINGS, settings.encoded()).load(),
        LakeFiles(declared),
        schema,
        {each.name: each.type for each in declared},
        max(files, key=lambda each: each.size).encoded() if files else None,
    )


def reject_renamed_columns(target: CatalogTable, table: Table) -> None:
    """Rejects tables whose older files have a column by another name: they are read by name."""
    names: dict[int, set[str]] = {}
    ids: dict[str, set[int]] = {}
    for schema in table.schemas().values():
        for name in schema.column_names:
            number = schema.find_field(name).field_id
            names.setdefault(number, set()).add(name)
            ids.setdefault(name, set()).add(number)
    changed = [each for known in names.values() if len(known) > 1 for each in sorted(known)]
    changed += [name for name, known in ids.items() if len(known) > 1]
    if changed:
        raise feature_error(
            target.owner,
            target.table,
            f"has had columns renamed, or removed and added again ({', '.join(changed)})",
            "Copy it to a new table.",
        )
