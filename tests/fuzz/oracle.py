"""DuckDB over the whole input, and multisets of normalised rows for comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
from tests.fuzz.streams import COLUMNS, Row

Bag = Counter[tuple[Any, ...]]
_ARROW = {
    "int": pa.int64(),
    "double": pa.float64(),
    "decimal": pa.decimal128(10, 2),
    "string": pa.string(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
    "binary": pa.binary(),
}
SCHEMA = pa.schema([(name, _ARROW[type_]) for name, type_ in COLUMNS.items()])


def by_duckdb(
    tables: Mapping[str, Sequence[Row]], views: Iterable[tuple[str, str]], query: str
) -> Bag:
    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        for name, rows in tables.items():
            _create(database, name, rows)
        for name, text in views:
            database.execute(f"CREATE TABLE {name} AS {text}")
        return bag(database.execute(query).fetchall())


def _create(database: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Row]) -> None:
    given = pa.Table.from_pylist([_local(row) for row in rows], SCHEMA)
    database.register("given", given)
    database.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    database.unregister("given")


def _local(row: Row) -> Row:
    """Times without a zone, and one zero: DuckDB distinguishes 0.0 and -0.0 in some places."""
    return {name: _plain(value, nan=float("nan")) for name, value in row.items()}


def left_over(rows: Iterable[Row]) -> Bag:
    """What is left when all changes are applied; without `_OP`, all rows."""
    found: Bag = Counter()
    for row in rows:
        values = tuple(_plain(value) for name, value in row.items() if name != "_OP")
        found[values] += -1 if row.get("_OP") in ("-U", "-D") else 1
    return Counter({values: count for values, count in found.items() if count})


def bag(rows: Iterable[Sequence[Any]]) -> Bag:
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any, nan: object = "nan") -> Any:
    if isinstance(value, float):
        return nan if math.isnan(value) else value + 0.0
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, Decimal):
        return value.normalize() + 0
    return value


def difference(came: Bag, wanted: Bag) -> str:
    """Rows that came and should not (+), and those that are missing (-)."""
    lines = [f"  + {count} × {row}" for row, count in (came - wanted).items()]
    lines += [f"  + {count} × {row}" for row, count in came.items() if count < 0]
    lines += [f"  - {count} × {row}" for row, count in (wanted - came).items()]
    return "\n".join(lines[:12])
