"""Opens a table, or its changes, as a stream of work items that executors read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from psycopg import sql
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.options import arrow_type
from millstream.connectors.postgresql.change_stream import ChangeSource
from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.describe import columns_of
from millstream.connectors.postgresql.slots import check_replication, slot_name
from millstream.connectors.postgresql.source_names import OP, SYSTEM_COLUMNS
from millstream.connectors.postgresql.source_options import CDC, SNAPSHOT
from millstream.connectors.postgresql.source_reader import PostgresReader
from millstream.connectors.postgresql.source_streams import SETTINGS, ItemSource, StreamSettings
from millstream.connectors.postgresql.source_table import SourceTable, describe_table
from millstream.connectors.postgresql.table_streams import PageSource, RangeSource
from millstream.connectors.postgresql.target import Session, Target
from millstream.connectors.python_source import register
from millstream.connectors.work_items import WorkStream
from millstream.plan import nodes
from millstream.plan.connectors import CHECKPOINT
from millstream.suggestions import nearest, same


def open_source(
    spark: SparkSession,
    source: nodes.Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
) -> WorkStream:
    target = Target.of("source", source, base)
    schema = to_spark_schema(spark, source.columns)
    types = {
        field.name: arrow_type(field.dataType)
        for field in schema
        if field.name.lower() not in SYSTEM_COLUMNS and not same(field.name, OP)
    }
    session = Session(target)
    # Errors of the server are known before Spark starts to read.
    found = session.run(
        lambda each: prepare_source(target, each, source, types), target.connect_seconds
    )
    session.close()
    data_source: type[ItemSource] = RangeSource
    if source.option("mode") in _SOURCES:
        data_source = _SOURCES[source.option("mode")]
    stream = spark.readStream.format(register(spark, data_source))
    schema = _with_system_columns(spark, schema)
    return WorkStream(
        stream.option(SETTINGS, found.settings.encoded()).load(),
        found.reader,
        schema,
        {field.name: arrow_type(field.dataType) for field in schema},
        is_changelog=source.retracts,
    )


_SOURCES: dict[str, type[ItemSource]] = {SNAPSHOT: PageSource, CDC: ChangeSource}


@dataclass(frozen=True, slots=True)
class PreparedSource:
    """What the driver and executors need to read a table."""

    settings: StreamSettings
    reader: PostgresReader


def prepare_source(
    target: Target, connection: Connection, source: nodes.Source, types: dict[str, pa.DataType]
) -> PreparedSource:
    table = describe_table(target, connection, types)
    mode, publication, column, kind = source.option("mode"), "", "", ""
    if mode == CDC:
        publication = source.option("publication") or f"millstream_{table.name}"
        check_replication(target, connection, table, publication)
    elif mode != SNAPSHOT:
        column, kind = _incremental_column(target, connection, source, table)
    settings = StreamSettings(
        target,
        table.text,
        table.oid,
        int(source.option("max.rows.per.batch", "1000000")),
        column,
        kind,
        source.option("slot.name") or slot_name(source.name, source.option(CHECKPOINT)),
        not source.option("slot.name"),
        publication,
    )
    ignores_truncate = source.option("on.truncate", "fail").lower() == "ignore"
    reader = PostgresReader(target, table, publication, ignores_truncate, column, kind)
    return PreparedSource(settings, reader)


def _incremental_column(
    target: Target, connection: Connection, source: nodes.Source, table: SourceTable
) -> tuple[str, str]:
    """Returns the name of a column in SQL, and its type."""
    name = source.option("incremental.column")
    known = columns_of(connection, table.schema, table.name)
    column = next((known[each] for each in known if same(each, name)), None)
    if column is None:
        raise target.table_error(
            f"the table {target.table} has no column {name}, which 'incremental.column' names",
            nearest(name, list(known)),
        )
    return sql.Identifier(column.name).as_string(None), column.text


def _with_system_columns(spark: SparkSession, schema: StructType) -> StructType:
    declared = {name.lower() for name in schema.names}
    more = [
        nodes.Column(name, kind) for name, kind in SYSTEM_COLUMNS.items() if name not in declared
    ]
    fields: list[StructField] = [*schema, *to_spark_schema(spark, more)]
    return StructType(fields)
