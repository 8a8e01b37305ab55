"""Tables that rows of a stream are looked up in: a static DataFrame, or a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millstream.errors import PlanError
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.names.names import quote
from millstream.plan.nodes import Broadcast, Column, Reference
from millstream.plan.tables.references import reference_of
from millstream.spark.tables.join import SINCE, UNTIL
from millstream.sql.parse import parse
from millstream.sql.statements import CreateTable
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME
from millstream.values import Lookup, OnError


@dataclass(frozen=True, slots=True)
class Table:
    """`columns` are as CREATE TABLE has them; `frame` is the table itself, if Spark has it."""

    columns: str
    key: tuple[str, ...]
    properties: tuple[tuple[str, str], ...] = ()
    frame: DataFrame | None = None

    def reference(self, name: str) -> Reference:
        """The table as a plan knows it."""
        if self.frame is not None:
            columns = tuple(Column(f.name, f.dataType.simpleString()) for f in self.frame.schema)
            return Reference(name, columns, self.key, "dataframe", (), Broadcast())
        listed = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in self.properties)
        key = f", PRIMARY KEY ({', '.join(map(quote, self.key))})" if self.key else ""
        (made,) = parse(f"CREATE TABLE {quote(name)} ({self.columns}{key}) WITH ({listed})")
        assert isinstance(made, CreateTable)
        found = reference_of(made, installed_connectors())
        if isinstance(found.access, Lookup) and found.access.on_error is OnError.SIDE_OUTPUT:
            raise PlanError(
                "MS-PLAN-LATE-SINK",
                "a DataFrame has no second output for rows that could not be looked up.",
                fix="Set 'lookup.on_error' to fail or null, or use `millstream run`.",
            )
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.reference("table").columns)


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def table(frame: DataFrame, *, key: str | Sequence[str] = ()) -> Table:
    """A static DataFrame as a table: Spark reads it in every micro-batch and hands it to all
    workers. `key` are the columns that tell its rows apart, if they do."""
    if frame.isStreaming:
        raise PlanError(
            "MS-PLAN-TABLE",
            "a streaming DataFrame is no table.",
            fix="Use it as a stream of versions: orders.temporal_join(ms.stream(…), on=…).",
        )
    return Table("", (key,) if isinstance(key, str) else tuple(key), frame=frame)


def database(
    connector: str,
    columns: str,
    *,
    key: str | Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    **options: str,
) -> Table:
    """A table of a database that is asked by key: "postgresql" or "sqlite".

    `columns` are written as in CREATE TABLE ("id BIGINT, name STRING"), `options` are `url` or
    `path`, `table`, `user`, `password`; `properties` are those of CREATE TABLE, such as
    {"lookup.cache.ttl": "5m"}.
    """
    given = {"connector": connector, **options, **(properties or {})}
    return Table(columns, (key,) if isinstance(key, str) else tuple(key), tuple(given.items()))


@dataclass(frozen=True, slots=True)
class GivenTables:
    """Where the tables of a query in Python are (spark.tables.join.Tables)."""

    frames: Mapping[str, DataFrame]

    def once(self, table: Reference, keys: tuple[str, ...]) -> DataFrame | None:  # noqa: ARG002
        always = F.lit(BEGIN_OF_TIME).alias(SINCE), F.lit(END_OF_TIME).alias(UNTIL)
        return self.frames[table.name].select("*", *always)

    def folder(self, table: Reference) -> str:
        raise AssertionError(f"{table.name} is a DataFrame")

    def options(self, table: Reference) -> tuple[tuple[str, str], ...]:
        return table.options

    def lookup(self, table: Reference) -> str:
        return installed_connectors()[table.connector].lookup or ""
