"""Builds the lookup statement of a PostgreSQL table; all its values are parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from psycopg import sql

from millstream.connectors.lookup.failures import wrong_condition
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import family
from millstream.connectors.lookup.values import Reader
from millstream.connectors.postgresql.columns import (
    PLAIN_TEXT,
    SPARK,
    check_type,
    expression,
    reader,
)
from millstream.connectors.postgresql.describe import Column, Table, quote_name
from millstream.values import Condition

_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_NUL = "\0"
# The types of key parameters, chosen so that PostgreSQL can use an index of the column.
_KEY_TYPES = {
    "int2": "int8",
    "int4": "int8",
    "oid": "int8",
    "float4": "float8",
    "varchar": "text",
    "name": "text",
}
_COMPARED_DIRECTLY = (*SPARK, *PLAIN_TEXT, "name", "bpchar", "uuid")
_NUMBERS = ("int2", "int4", "int8", "numeric", "float4", "float8")


@dataclass(frozen=True, slots=True)
class LookupQuery:
    """The statements of a table, built once.

    Attributes:
        statement: Selects by key; the parameters are a list per key column, and `conditions`.
        first_rows: Selects any rows; the parameter is their number.
        conditions: The values of the conditions.
        supported_keys: Whether the database can store a key.
        key_values: The key columns as parameters.
        readers: Convert values of columns whose Python values differ from Spark's.
    """

    statement: sql.Composed
    first_rows: sql.Composed
    conditions: tuple[Any, ...]
    supported_keys: pl.Expr
    key_values: tuple[pl.Expr, ...]
    readers: dict[str, Reader]

    def parameters(self, keys: pl.DataFrame) -> list[Any]:
        """Returns the parameters of `statement` for these keys."""
        lists = [keys.select(key_values).to_series().to_list() for key_values in self.key_values]
        return [*lists, *self.conditions]


def build_query(spec: LookupSpec, table: Table) -> LookupQuery:
    columns = table.columns
    for name in spec.read:
        check_type(spec, name, columns[name])
    conditions = [_condition(spec, each, columns[each.column]) for each in spec.conditions]
    read = [expression(spec, name, columns[name]) for name in spec.read]
    keys = _keys(spec, columns)
    listed, source = sql.SQL(", ").join(read), quote_name(table.schema, table.name)
    where = sql.SQL(" AND ").join([keys, *(text for text, _ in conditions)])
    statement = sql.SQL("SELECT {} FROM {} WHERE {}").format(listed, source, where)
    readers = {name: reader(spec.schema.field(name).type) for name in spec.read}
    return LookupQuery(
        statement,
        sql.SQL("SELECT {} FROM {} LIMIT %s").format(listed, source),
        tuple(value for _, values in conditions for value in values),
        pl.all_horizontal([_is_supported(name, columns[name], spec) for name in spec.keys]),
        tuple(_key_value(name, spec) for name in spec.keys),
        {name: found for name, found in readers.items() if found},
    )


def _keys(spec: LookupSpec, columns: dict[str, Column]) -> sql.Composable:
    requested: list[sql.Composable] = []
    lists: list[sql.Composable] = []
    for name in spec.keys:
        column = columns[name]
        if column.type in _COMPARED_DIRECTLY:
            requested.append(quote_name(column.name))
            key_values = _KEY_TYPES.get(column.type, column.type)
        else:
            requested.append(sql.SQL("{}::text").format(quote_name(column.name)))
            key_values = "text"
        if family(spec.schema.field(name).type) == "decimal":
            key_values = "numeric"
        elif family(spec.schema.field(name).type) == "double":
            key_values = "float8"
        lists.append(sql.SQL("%s::{}[]").format(sql.SQL(key_values)))
    if len(requested) == 1:
        return sql.SQL("{} = ANY({})").format(requested[0], lists[0])
    comma = sql.SQL(", ")
    return sql.SQL("({}) IN (SELECT * FROM unnest({}))").format(
        comma.join(requested), comma.join(lists)
    )


def _is_supported(name: str, column: Column, spec: LookupSpec) -> pl.Expr:
    """Whether the database can store a key. Other keys are absent, and the query would fail."""
    match family(spec.schema.field(name).type):
        case "string" if column.type == "uuid":
            return pl.col(name).str.contains(_UUID)
        case "string":
            return ~pl.col(name).str.contains(_NUL, literal=True)
        case "timestamp" | "timestamp_ntz" | "date":
            return pl.col(name).dt.year().is_between(1, 9999)
    return pl.lit(True)


def _key_value(name: str, spec: LookupSpec) -> pl.Expr:
    match family(spec.schema.field(name).type):
        case "timestamp":
            return pl.col(name).dt.strftime("%Y-%m-%d %H:%M:%S%.6f+00")
        case "timestamp_ntz":
            return pl.col(name).dt.strftime("%Y-%m-%d %H:%M:%S%.6f")
    return pl.col(name)


def _condition(
    spec: LookupSpec, condition: Condition, column: Column
) -> tuple[sql.Composable, list[Any]]:
    name = quote_name(column.name)
    if not condition.values:
        return sql.SQL("{} IS " + condition.op.upper()).format(name), []
    for value in condition.values:
        if not _comparable(value, column):
            found = f"it is {column.text} in the database"
            raise wrong_condition(spec, condition.column, value, found)
    text: sql.Composable = name
    if isinstance(condition.values[0], str):
        # Spark compares strings byte by byte. The index of a column with another collation can be
        # used only where both comparisons have the same result.
        if column.type not in PLAIN_TEXT or not column.exact:
            text = sql.SQL('{}::text COLLATE "C"').format(name)
        elif condition.op not in ("=", "<>", "in"):
            text = sql.SQL('{} COLLATE "C"').format(name)
    values = list(condition.values)
    if condition.op == "in":
        return sql.SQL("{} = ANY(%s)").format(text), [values]
    return sql.SQL("{} " + condition.op + " %s").format(text), values


def _comparable(value: object, column: Column) -> bool:
    if isinstance(value, bool):
        return column.type == "bool"
    if isinstance(value, int):
        return column.type in _NUMBERS
    return column.type not in SPARK
