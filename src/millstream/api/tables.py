"""Tables that rows of a stream are looked up in: a static DataFrame, or a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.connectors.reference_rows import reject_duplicate_keys, reject_oversized_table
from millstream.connectors.registry import open_table
from millstream.engine.compile.table_join import SINCE, UNTIL
from millstream.errors import PlanError
from millstream.plan.build.tables.reference import build_reference_table
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Broadcast, Column, ReferenceTable
from millstream.plan.resolve.name_checks import check_object_name
from millstream.plan.resolve.names import literal, quote
from millstream.plan.secrets import options_text
from millstream.sql.parse import parse
from millstream.sql.statements import CreateTable
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

DATAFRAME = "dataframe"  # the connector of a table that is a DataFrame


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """A table for `Stream.lookup_join` and `sql`, made by `table` or `database`.

    Example:
        >>> ms.table(countries, key="code")
        Table(code string, name string; key code; DataFrame)
    """

    columns: str  # as CREATE TABLE has them
    key: tuple[str, ...]
    properties: tuple[tuple[str, str], ...] = ()
    frame: DataFrame | None = None
    name: str | None = None

    def __repr__(self) -> str:
        columns = self.columns
        if self.frame is not None:
            columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in self.frame.schema)
        parts = [columns]
        if self.key:
            parts.append(f"key {', '.join(self.key)}")
        parts.append("DataFrame" if self.frame is not None else properties_text(self.properties))
        return f"Table({'; '.join(parts)})"


def properties_text(properties: tuple[tuple[str, str], ...]) -> str:
    """Returns properties with a connector as a text; secrets as stars."""
    connector = installed_connectors()[dict(properties).get("connector", "")]
    return options_text(connector, properties)


def table_node(table: Table, name: str) -> ReferenceTable:
    """Returns the node of a table in a plan."""
    if table.frame is not None:
        columns = tuple(Column(f.name, f.dataType.simpleString()) for f in table.frame.schema)
        return ReferenceTable(name, columns, table.key, DATAFRAME, (), Broadcast())
    listed = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in table.properties)
    key = f", PRIMARY KEY ({', '.join(map(quote, table.key))})" if table.key else ""
    (made,) = parse(f"CREATE TABLE {quote(name)} ({table.columns}{key}) WITH ({listed})")
    assert isinstance(made, CreateTable)
    return build_reference_table(made, installed_connectors())


def table(frame: DataFrame, *, key: str | Sequence[str] = (), name: str | None = None) -> Table:
    """Makes a table of a static DataFrame.

    Args:
        frame: The rows. `Stream.to_df` reads them anew in every micro-batch; `Stream.write` reads
            them when it starts.
        key: The columns that identify a row, if some do.
        name: The name of the table in plans; by default its position in the query.

    Returns:
        A table for `Stream.lookup_join` and `sql`.

    Example:
        >>> named = orders.lookup_join(ms.table(countries), on={"country": "code"}, how="left")
        >>> named.columns
        ['order_id', 'customer_id', 'country', 'amount', 'event_time', 'code', 'name']
    """
    if frame.isStreaming:
        raise PlanError(
            "MS-PLAN-TABLE",
            "a streaming DataFrame is not a table.",
            fix="Use it as a stream of versions: orders.temporal_join(ms.stream(…), on=…).",
        )
    return Table("", _listed(key), frame=frame, name=_checked(name))


def database(
    connector: str,
    columns: str,
    *,
    key: str | Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    name: str | None = None,
    **options: str,
) -> Table:
    """Makes a table of a database that is queried by key.

    Args:
        connector: "postgresql" or "sqlite".
        columns: The columns as in CREATE TABLE: "id BIGINT, name STRING".
        key: The columns that identify a row.
        properties: Properties of CREATE TABLE, such as {"lookup.cache.ttl": "5m"}.
        name: The name of the table in plans; by default its position in the query.
        **options: `url` or `path`, `table`, `user`, `password`.

    Returns:
        A table for `Stream.lookup_join` and `sql`. Its repr has no passwords.

    Example:
        >>> ms.database("sqlite", "id STRING, country STRING", key="id", path="shop.db", table="u")
        Table(id STRING, country STRING; key id; connector = sqlite, path = shop.db, table = u)
    """
    given = {"connector": connector, **options, **(properties or {})}
    return Table(columns, _listed(key), tuple(given.items()), name=_checked(name))


def read_rows(spark: SparkSession, table: ReferenceTable) -> pa.Table:
    """Returns the rows of a table that its connector reads whole."""
    return open_table(installed_connectors(), spark, table, Path.cwd()).read()


def _listed(key: str | Sequence[str]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)


def _checked(name: str | None) -> str | None:
    if name is not None:
        check_object_name("table", name, None)
    return name


@dataclass(frozen=True, slots=True)
class FrameTables:
    """The tables of a query as DataFrames (spark.tables.join.Tables): those that are given, and
    datasets, which are read once."""

    spark: SparkSession
    frames: Mapping[str, DataFrame]

    def static_frame(self, table: ReferenceTable, keys: tuple[str, ...]) -> DataFrame | None:  # noqa: ARG002
        always = F.lit(BEGIN_OF_TIME).alias(SINCE), F.lit(END_OF_TIME).alias(UNTIL)
        if table.connector == DATAFRAME:
            return self.frames[table.name].select("*", *always)
        rows = read_rows(self.spark, table)
        reject_oversized_table(table, rows)
        reject_duplicate_keys(table, rows)
        return self.spark.createDataFrame(rows).select("*", *always)

    def folder(self, table: ReferenceTable) -> str:
        raise AssertionError(f"{table.name} is a DataFrame")

    def options(self, table: ReferenceTable) -> tuple[tuple[str, str], ...]:
        return table.options

    def lookup(self, table: ReferenceTable) -> str:
        return installed_connectors()[table.connector].lookup or ""
