"""Opens a database table as a stream of ranges of rows, which executors read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import sqlalchemy as sa
from pyspark.sql import SparkSession

from millstream.connectors.database.columns import to_array
from millstream.connectors.database.range_source import (
    SETTINGS,
    DatabaseRanges,
    RangeSettings,
    TableBounds,
)
from millstream.connectors.database.target import Target
from millstream.connectors.dead_letters import BAD
from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.options import arrow_type
from millstream.connectors.lookup.types import Family, family, spark_name
from millstream.connectors.python_source import register
from millstream.connectors.value_ranges import ValueRange
from millstream.connectors.work_items import WorkStream
from millstream.errors import RunError
from millstream.plan.nodes import Source
from millstream.suggestions import nearest, same

_ROWS = 10_000  # per record batch
_ORDERED = ("whole", "string", "date", "timestamp", "timestamp_ntz")


def open_source(
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
) -> WorkStream:
    schema = to_spark_schema(spark, source.columns)
    types = {each.name: arrow_type(each.dataType) for each in schema}
    target = Target.of(f"source {source.name}", source, base)
    with target.connected() as connection:
        table = target.require(connection)
    names = {name: _spelling(target, name, table) for name in types}
    for name, kind in types.items():
        if family(kind) == "other":
            raise target.name.error(
                f"column {name} is declared {kind}, and database sources read primitive types",
                "Declare the column STRING.",
            )
    settings = RangeSettings(
        target,
        *_incremental_column(source, target, types, names),
        int(source.option("max.rows.per.batch", "1000000")),
    )
    stream = spark.readStream.format(register(spark, DatabaseRanges))
    return WorkStream(
        stream.option(SETTINGS, settings.encoded()).load(),
        DatabaseRows(settings, tuple(names.items())),
        schema,
        types,
    )


@dataclass(frozen=True, slots=True)
class DatabaseRows:
    """Reads ranges of rows. `names`: declared columns and how the table spells them."""

    settings: RangeSettings
    names: tuple[tuple[str, str], ...]
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
        rows, spelled = ValueRange.decoded(path), dict(self.names)
        target = self.settings.target
        with target.connected() as connection:
            table = target.require(connection)
            # A query of no column is no SQL; the first declared one counts the rows.
            columns = [table.c[spelled[name]] for name in wanted] or [table.c[self.names[0][1]]]
            statement = sa.select(*columns)
            if self.settings.column:
                bounds = TableBounds(self.settings)
                column = table.c[self.settings.column]
                statement = statement.where(*bounds.within(column, rows.after, rows.to))
            found = connection.execution_options(yield_per=_ROWS).execute(statement)
            for chunk in found.partitions():
                values = list(zip(*chunk, strict=True))
                arrays = [
                    _array(target, name, values[place], kind)
                    for place, (name, kind) in enumerate(wanted.items())
                ]
                arrays.append(pa.nulls(len(chunk), pa.string()))
                yield pa.RecordBatch.from_arrays(arrays, [*wanted, BAD])


def _array(target: Target, name: str, values: tuple[object, ...], kind: pa.DataType) -> pa.Array:
    try:
        return to_array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, ArithmeticError):
        raise RunError(
            "MS-RUN-DATABASE-VALUE",
            f"{target.owner}: column {name} of {target.table} has a value that cannot be read as "
            f"{spark_name(kind)}.",
            fix="Declare the column with the type of the table, or STRING.",
        ) from None


def _spelling(target: Target, name: str, table: sa.Table) -> str:
    found = next((str(each.name) for each in table.columns if same(each.name, name)), None)
    if found is None:
        raise target.name.error(
            f"the table {target.table} has no column {name}",
            nearest(name, table.columns.keys()),
        )
    return found


def _incremental_column(
    source: Source, target: Target, types: Mapping[str, pa.DataType], names: Mapping[str, str]
) -> tuple[str, Family]:
    """Returns the column whose values only increase, and its family; empty: all rows are read."""
    if source.option("mode", "snapshot") == "snapshot":
        return "", "other"
    given = source.option("incremental.column")
    found = next((name for name in types if same(name, given)), None)
    if found is None:
        raise target.name.error(
            f"'incremental.column' = '{given}' is not a declared column", nearest(given, types)
        )
    kind = family(types[found])
    if kind not in _ORDERED:
        raise target.name.error(
            f"'incremental.column' = '{given}' cannot be a {spark_name(types[found])}",
            "Name a column of integers, strings, dates or times.",
        )
    return names[found], kind
