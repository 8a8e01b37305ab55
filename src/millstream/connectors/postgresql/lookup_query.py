"""One question to PostgreSQL: a statement whose values are all parameters."""

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
    expression,
    must_fit,
    reader,
)
from millstream.connectors.postgresql.describe import Column, Table, quoted
from millstream.values import Condition

_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_NUL = "\0"
# Keys are sent as a type that PostgreSQL's indexes over the column's own type understand.
_SENT_AS = {
    "int2": "int8",
    "int4": "int8",
    "oid": "int8",
    "float4": "float8",
    "varchar": "text",
    "name": "text",
}
_ASKED_AS_THEY_ARE = (*SPARK, *PLAIN_TEXT, "name", "bpchar", "uuid")
_NUMBERS = ("int2", "int4", "int8", "numeric", "float4", "float8")


@dataclass(frozen=True, slots=True)
class Question:
    """Made once a table; `{}` of the statement stand for the keys' lists and the conditions."""

    statement: sql.Composed
    some: sql.Composed  # so many rows, whatever their keys
    conditions: tuple[Any, ...]
    askable: pl.Expr
    sent: tuple[pl.Expr, ...]
    readers: dict[str, Reader]

    def parameters(self, keys: pl.DataFrame) -> list[Any]:
        """A list a key column, and the conditions' values."""
        lists = [keys.select(sent).to_series().to_list() for sent in self.sent]
        return [*lists, *self.conditions]


def question_of(spec: LookupSpec, table: Table) -> Question:
    columns = table.columns
    for name in spec.read:
        must_fit(spec, name, columns[name])
    conditions = [_condition(spec, each, columns[each.column]) for each in spec.conditions]
    read = [expression(spec, name, columns[name]) for name in spec.read]
    keys = _keys(spec, columns)
    listed, source = sql.SQL(", ").join(read), quoted(table.schema, table.name)
    where = sql.SQL(" AND ").join([keys, *(text for text, _ in conditions)])
    statement = sql.SQL("SELECT {} FROM {} WHERE {}").format(listed, source, where)
    readers = {name: reader(spec.schema.field(name).type) for name in spec.read}
    return Question(
        statement,
        sql.SQL("SELECT {} FROM {} LIMIT %s").format(listed, source),
        tuple(value for _, values in conditions for value in values),
        pl.all_horizontal([_askable(name, columns[name], spec) for name in spec.keys]),
        tuple(_sent(name, spec) for name in spec.keys),
        {name: found for name, found in readers.items() if found},
    )


def _keys(spec: LookupSpec, columns: dict[str, Column]) -> sql.Composable:
    asked: list[sql.Composable] = []
    lists: list[sql.Composable] = []
    for name in spec.keys:
        column = columns[name]
        if column.type in _ASKED_AS_THEY_ARE:
            asked.append(quoted(column.name))
            sent = _SENT_AS.get(column.type, column.type)
        else:
            asked.append(sql.SQL("{}::text").format(quoted(column.name)))
            sent = "text"
        if family(spec.schema.field(name).type) == "decimal":
            sent = "numeric"
        elif family(spec.schema.field(name).type) == "double":
            sent = "float8"
        lists.append(sql.SQL("%s::{}[]").format(sql.SQL(sent)))
    if len(asked) == 1:
        return sql.SQL("{} = ANY({})").format(asked[0], lists[0])
    comma = sql.SQL(", ")
    return sql.SQL("({}) IN (SELECT * FROM unnest({}))").format(
        comma.join(asked), comma.join(lists)
    )


def _askable(name: str, column: Column, spec: LookupSpec) -> pl.Expr:
    """Keys that the database cannot hold are not there, and would spoil the whole question."""
    match family(spec.schema.field(name).type):
        case "string" if column.type == "uuid":
            return pl.col(name).str.contains(_UUID)
        case "string":
            return ~pl.col(name).str.contains(_NUL, literal=True)
        case "timestamp" | "timestamp_ntz" | "date":
            return pl.col(name).dt.year().is_between(1, 9999)
    return pl.lit(True)


def _sent(name: str, spec: LookupSpec) -> pl.Expr:
    match family(spec.schema.field(name).type):
        case "timestamp":
            return pl.col(name).dt.strftime("%Y-%m-%d %H:%M:%S%.6f+00")
        case "timestamp_ntz":
            return pl.col(name).dt.strftime("%Y-%m-%d %H:%M:%S%.6f")
    return pl.col(name)


def _condition(
    spec: LookupSpec, condition: Condition, column: Column
) -> tuple[sql.Composable, list[Any]]:
    name = quoted(column.name)
    if not condition.values:
        return sql.SQL("{} IS " + condition.op.upper()).format(name), []
    for value in condition.values:
        if not _comparable(value, column):
            found = f"it is {column.text} in the database"
            raise wrong_condition(spec, condition.column, value, found)
    text: sql.Composable = name
    if isinstance(condition.values[0], str):
        # Spark compares texts by their bytes; an index of the column's own order helps only
        # where both mean the same.
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
