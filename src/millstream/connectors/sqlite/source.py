"""Opens an SQLite table as a stream of ranges of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession

from millstream.connectors.dead_letters import BAD
from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.options import arrow_type
from millstream.connectors.jdbc.filters import ScanFilter
from millstream.connectors.lookup.failures import find_name
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import family, spark_name
from millstream.connectors.paths import resolve
from millstream.connectors.python_source import register
from millstream.connectors.sqlite.columns import can_read, readable_as, table_columns
from millstream.connectors.sqlite.database import bounded, connect, describe
from millstream.connectors.sqlite.row_ranges import (
    SETTINGS,
    RangeSettings,
    SqliteRanges,
)
from millstream.connectors.sqlite.scan import scan
from millstream.connectors.value_ranges import ValueRange
from millstream.connectors.work_items import WorkStream
from millstream.errors import RunError
from millstream.plan.nodes import Source

_CODES = {
    "MS-LOOKUP-CONNECT": "MS-RUN-SQLITE-FAILED",
    "MS-LOOKUP-TABLE": "MS-RUN-SQLITE-TABLE",
    "MS-LOOKUP-TYPE": "MS-RUN-SQLITE-VALUE",
}
_ORDERED = ("whole", "string", "date", "timestamp", "timestamp_ntz")


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
) -> WorkStream:
    schema = to_spark_schema(spark, source.columns)
    types = {each.name: arrow_type(each.dataType) for each in schema}
    spec = _spec(source, base, types)
    with as_source(spec):
        column = incremental_column(source, spec)
        table = checked(spec)
    settings = RangeSettings(
        f"source {source.name}",
        spec.option("path"),
        table,
        column,
        int(source.option("max.rows.per.batch", "1000000")),
    )
    stream = spark.readStream.format(register(spark, SqliteRanges))
    return WorkStream(
        stream.option(SETTINGS, settings.encoded()).load(),
        SqliteRows(spec, column),
        schema,
        types,
    )


@dataclass(frozen=True, slots=True)
class SqliteRows:
    """Reads ranges of rows. The file must be on the machine of the executor."""

    spec: LookupSpec
    column: str
    min_part_bytes: ClassVar[int] = 1 << 40  # a work item is read by one task

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:  # noqa: ARG002
        return 0

    def read(
        self,
        path: str,
        wanted: Mapping[str, pa.DataType],
        part: int = 0,  # noqa: ARG002
        parts: int = 1,  # noqa: ARG002
    ) -> Iterator[pa.RecordBatch]:
        rows, filters = ValueRange.decoded(path), []
        if rows.after is not None:
            filters.append(ScanFilter(self.column, ">", (rows.after,)))
        if rows.to is not None:
            filters.append(ScanFilter(self.column, "<=", (rows.to,)))
        with as_source(self.spec):
            for batch in scan(self.spec, filters):
                bad = pa.nulls(batch.num_rows, pa.string())
                columns = [*(batch.column(name) for name in wanted), bad]
                yield pa.RecordBatch.from_arrays(columns, [*wanted, BAD])


@contextmanager
def as_source(spec: LookupSpec) -> Iterator[None]:
    """Raises errors of a lookup, which reads tables in the same way, as those of a source."""
    try:
        yield
    except RunError as error:
        if error.code not in _CODES:
            raise
        cause = error.cause.replace(f"table {spec.table}", f"source {spec.table}", 1)
        fix = error.fix.replace("CREATE TABLE", "CREATE SOURCE")
        raise RunError(_CODES[error.code], cause, fix=fix) from None


def _spec(source: Source, base: Path, types: Mapping[str, pa.DataType]) -> LookupSpec:
    options = {**dict(source.options), "path": resolve(source.option("path"), base)}
    names = tuple(types)
    schema = pa.schema(list(types.items()))
    return LookupSpec(source.name, "sqlite", tuple(options.items()), names[:1], names, schema)


def incremental_column(source: Source, spec: LookupSpec) -> str:
    """Returns the declared column whose values only increase; empty if all rows are read once."""
    if source.option("mode", "snapshot") == "snapshot":
        return ""
    name = find_name(spec, "column", source.option("incremental.column"), spec.columns)
    if family(spec.schema.field(name).type) not in _ORDERED:
        raise RunError(
            "MS-RUN-SQLITE-TABLE",
            f"source {source.name}: 'incremental.column' = '{name}' cannot be a "
            f"{spark_name(spec.schema.field(name).type)}.",
            fix="Name a column of integers, strings, dates or times.",
            place=source.place,
        )
    return name


def checked(spec: LookupSpec) -> str:
    """Checks the declared columns; returns the table as the database spells it."""
    connection = connect(spec)
    try:
        with bounded(connection, spec):
            table, names = describe(spec, connection)
    finally:
        connection.close()
    known = table_columns(spec)
    for name in spec.columns:
        found = known[names[name]]
        if not can_read(found, spec.schema.field(name).type):
            raise RunError(
                "MS-RUN-SQLITE-TABLE",
                f"source {spec.table}: column {names[name]} is {found.base}, which cannot be read "
                f"as {spark_name(spec.schema.field(name).type)}.",
                fix=f"Declare it {readable_as(found)}.",
            )
    return table
