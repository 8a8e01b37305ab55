"""Looks up rows of an SQLite table by their keys.

A lookup is one statement whose values are all parameters; the keys are one JSON document. SQLite
does not handle strings with U+0000 reliably, so a key that contains one is not looked up.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from millstream.connectors.lookup.connections import Connections
from millstream.connectors.lookup.failures import wrong_condition, wrong_key
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import Store
from millstream.connectors.lookup.types import family
from millstream.connectors.lookup.values import Reader, empty_frame, to_frame
from millstream.connectors.sqlite.columns import reader
from millstream.connectors.sqlite.database import bounded, connect, describe, quote_name
from millstream.values import Condition

_SAMPLE = 100  # rows that are read before the job starts, to check their types
# Types with one representation per value, so that values equal in Spark are equal in SQLite.
_KEYS = ("whole", "string", "boolean", "date")
_MOST = 2**63


@dataclass(frozen=True, slots=True)
class LookupQuery:
    statement: str
    first_rows: str  # selects any rows; its parameter is their number
    conditions: tuple[Any, ...]
    supported_keys: pl.Expr
    key_values: tuple[pl.Expr, ...]
    readers: dict[str, Reader]

    def parameters(self, keys: pl.DataFrame) -> list[Any]:
        key_values = keys.select(self.key_values)
        values = key_values.to_series().to_list() if key_values.width == 1 else key_values.rows()
        return [json.dumps(values), *self.conditions]


def build_query(spec: LookupSpec, connection: sqlite3.Connection) -> LookupQuery:
    for name in spec.keys:
        declared = spec.schema.field(name).type
        if family(declared) not in _KEYS:
            raise wrong_key(spec, name, declared, "SQLite")
    table, names = describe(spec, connection)
    read = ", ".join(f"t.{quote_name(names[name])}" for name in spec.read)
    conditions = [_condition(spec, each, names[each.column]) for each in spec.conditions]
    keys = [f"t.{quote_name(names[name])}" for name in spec.keys]
    source = f"{quote_name(table)} AS t"
    if len(keys) == 1:
        requested = [f"{keys[0]} IN (SELECT value FROM json_each(?))"]
        whole = source
    else:
        # IN with pairs would use an index for the first key column only. CROSS fixes the join
        # order: the rows of each key, by an index that SQLite creates if there is none.
        requested = [f"{key} = json_extract(k.value, '$[{at}]')" for at, key in enumerate(keys)]
        whole = f"json_each(?) AS k CROSS JOIN {source}"
    where = " AND ".join([*requested, *(text for text, _ in conditions)])
    readers = {name: reader(spec.schema.field(name).type) for name in spec.read}
    return LookupQuery(
        f"SELECT {read} FROM {whole} WHERE {where}",
        f"SELECT {read} FROM {source} LIMIT ?",
        tuple(value for _, values in conditions for value in values),
        pl.all_horizontal([_is_supported(name, spec) for name in spec.keys]),
        tuple(_key_value(name, spec) for name in spec.keys),
        {name: found for name, found in readers.items() if found},
    )


def _is_supported(name: str, spec: LookupSpec) -> pl.Expr:
    if family(spec.schema.field(name).type) == "string":
        return ~pl.col(name).str.contains("\0", literal=True)
    return pl.lit(True)


def _key_value(name: str, spec: LookupSpec) -> pl.Expr:
    match family(spec.schema.field(name).type):
        case "boolean":
            return pl.col(name).cast(pl.Int8)
        case "date":
            return pl.col(name).dt.strftime("%Y-%m-%d")
    return pl.col(name)


def _condition(spec: LookupSpec, condition: Condition, column: str) -> tuple[str, list[Any]]:
    name = f"t.{quote_name(column)}"
    if not condition.values:
        return f"{name} IS {condition.op.upper()}", []
    for value in condition.values:
        if isinstance(value, int) and not -_MOST <= value < _MOST:
            raise wrong_condition(spec, condition.column, value, "SQLite's integers have 64 bits")
    if isinstance(condition.values[0], str):
        name = f"{name} COLLATE BINARY"  # as Spark compares
    marks = ", ".join("?" * len(condition.values))
    op, marks = ("IN", f"({marks})") if condition.op == "in" else (condition.op, marks)
    return f"{name} {op} {marks}", list(condition.values)


def open_store(spec: LookupSpec) -> Store:
    return SqliteStore(spec)


class SqliteStore:
    advice: ClassVar[str] = "Check 'path', and whether another process has locked the file."

    def __init__(self, spec: LookupSpec) -> None:
        self._spec = spec
        self._connections: Connections[sqlite3.Connection] = Connections(lambda: connect(spec))
        self._query: LookupQuery | None = None

    def fetch(self, keys: pl.DataFrame) -> pl.DataFrame:
        with self._connections.one() as connection, bounded(connection, self._spec):
            query = self._prepare(connection)
            keys = keys.filter(query.supported_keys)
            if keys.is_empty():
                return empty_frame(self._spec)
            rows = connection.execute(query.statement, query.parameters(keys)).fetchall()
        return to_frame(self._spec, rows, query.readers)

    def first_rows(self, limit: int) -> pl.DataFrame:
        with self._connections.one() as connection, bounded(connection, self._spec):
            query = self._prepare(connection)
            rows = connection.execute(query.first_rows, (limit,)).fetchall()
        return to_frame(self._spec, rows, query.readers)

    def check(self) -> None:
        self.first_rows(_SAMPLE)

    def close(self) -> None:
        self._connections.close()

    def _prepare(self, connection: sqlite3.Connection) -> LookupQuery:
        if self._query is None:
            self._query = build_query(self._spec, connection)
        return self._query
