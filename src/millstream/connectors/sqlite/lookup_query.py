"""One question to SQLite: a statement whose values are all parameters, the keys as one JSON text.

SQLite is not sure of texts with a character U+0000 in them: a key that has one is not asked for.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

import polars as pl

from millstream.connectors.lookup.failures import find_name, wrong_condition, wrong_key
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import family
from millstream.connectors.lookup.values import Reader
from millstream.connectors.sqlite.columns import reader
from millstream.values import Condition

# Types of which a value has only one form in the database, so that equal values are equal there.
_KEYS = ("whole", "string", "boolean", "date")
_MOST = 2**63


@dataclass(frozen=True, slots=True)
class Question:
    statement: str
    some: str  # so many rows, whatever their keys
    conditions: tuple[Any, ...]
    askable: pl.Expr
    sent: tuple[pl.Expr, ...]
    readers: dict[str, Reader]

    def parameters(self, keys: pl.DataFrame) -> list[Any]:
        sent = keys.select(self.sent)
        values = sent.to_series().to_list() if sent.width == 1 else sent.rows()
        return [json.dumps(values), *self.conditions]


def question_of(spec: LookupSpec, connection: sqlite3.Connection) -> Question:
    for name in spec.keys:
        declared = spec.schema.field(name).type
        if family(declared) not in _KEYS:
            raise wrong_key(spec, name, declared, "SQLite")
    table, names = describe(spec, connection)
    read = ", ".join(f"t.{quoted(names[name])}" for name in spec.read)
    conditions = [_condition(spec, each, names[each.column]) for each in spec.conditions]
    keys = [f"t.{quoted(names[name])}" for name in spec.keys]
    source = f"{quoted(table)} AS t"
    if len(keys) == 1:
        asked = [f"{keys[0]} IN (SELECT value FROM json_each(?))"]
        whole = source
    else:
        # Over pairs, IN would use an index for the first key alone. CROSS fixes the order: for
        # each key its rows, by an index that SQLite makes if there is none.
        asked = [f"{key} = json_extract(k.value, '$[{at}]')" for at, key in enumerate(keys)]
        whole = f"json_each(?) AS k CROSS JOIN {source}"
    where = " AND ".join([*asked, *(text for text, _ in conditions)])
    readers = {name: reader(spec.schema.field(name).type) for name in spec.read}
    return Question(
        f"SELECT {read} FROM {whole} WHERE {where}",
        f"SELECT {read} FROM {source} LIMIT ?",
        tuple(value for _, values in conditions for value in values),
        pl.all_horizontal([_askable(name, spec) for name in spec.keys]),
        tuple(_sent(name, spec) for name in spec.keys),
        {name: found for name, found in readers.items() if found},
    )


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def describe(spec: LookupSpec, connection: sqlite3.Connection) -> tuple[str, dict[str, str]]:
    """The table and its columns, as the database spells them."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    table = find_name(spec, "table", spec.name, [str(name) for (name,) in tables])
    found = connection.execute("SELECT name FROM pragma_table_xinfo(?)", (table,))
    known = [str(name) for (name,) in found]
    wanted = [*spec.read, *(condition.column for condition in spec.conditions)]
    return table, {each: find_name(spec, "column", each, known) for each in wanted}


def _askable(name: str, spec: LookupSpec) -> pl.Expr:
    if family(spec.schema.field(name).type) == "string":
        return ~pl.col(name).str.contains("\0", literal=True)
    return pl.lit(True)


def _sent(name: str, spec: LookupSpec) -> pl.Expr:
    match family(spec.schema.field(name).type):
        case "boolean":
            return pl.col(name).cast(pl.Int8)
        case "date":
            return pl.col(name).dt.strftime("%Y-%m-%d")
    return pl.col(name)


def _condition(spec: LookupSpec, condition: Condition, column: str) -> tuple[str, list[Any]]:
    name = f"t.{quoted(column)}"
    if not condition.values:
        return f"{name} IS {condition.op.upper()}", []
    for value in condition.values:
        if isinstance(value, int) and not -_MOST <= value < _MOST:
            raise wrong_condition(spec, condition.column, value, "SQLite has none so large")
    if isinstance(condition.values[0], str):
        name = f"{name} COLLATE BINARY"  # as Spark compares
    marks = ", ".join("?" * len(condition.values))
    op, marks = ("IN", f"({marks})") if condition.op == "in" else (condition.op, marks)
    return f"{name} {op} {marks}", list(condition.values)
