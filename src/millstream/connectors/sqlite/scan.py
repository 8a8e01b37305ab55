"""Streams the rows of an SQLite table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import pyarrow as pa

from millstream.connectors.jdbc.filters import ScanFilter
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import Family, family
from millstream.connectors.lookup.values import to_frame
from millstream.connectors.sqlite.columns import reader
from millstream.connectors.sqlite.database import bounded, connect, describe, quote_name

_ROWS = 10_000  # per record batch

# Types with one representation per value, so that their order is Spark's.
COMPARABLE: frozenset[Family] = frozenset({"boolean", "whole", "string", "date"})


def scan(spec: LookupSpec, filters: Sequence[ScanFilter]) -> Iterator[pa.RecordBatch]:
    """Yields the rows that pass all filters, with the columns of `spec`."""
    connection = connect(spec)
    try:
        with bounded(connection, spec):
            table, names = describe(spec, connection)
            read = ", ".join(quote_name(names[name]) for name in spec.read)
            conditions = [
                _condition(spec, each, quote_name(names[each.column])) for each in filters
            ]
            where = " AND ".join(text for text, _ in conditions)
            parameters = [value for _, values in conditions for value in values]
            statement = f"SELECT {read} FROM {quote_name(table)}" + (
                f" WHERE {where}" if where else ""
            )
            cursor = connection.execute(statement, parameters)
        found = {name: reader(spec.schema.field(name).type) for name in spec.read}
        readers = {name: each for name, each in found.items() if each}
        while True:
            with bounded(connection, spec):
                rows = cursor.fetchmany(_ROWS)
            if not rows:
                return
            yield from to_frame(spec, rows, readers).to_arrow().cast(spec.schema).to_batches()
    finally:
        connection.close()


def _condition(spec: LookupSpec, condition: ScanFilter, column: str) -> tuple[str, list[Any]]:
    if not condition.values:
        return f"{column} {condition.op.upper()}", []
    if family(spec.schema.field(condition.column).type) == "string":
        column = f"{column} COLLATE BINARY"
    values = [each.isoformat() if isinstance(each, date) else each for each in condition.values]
    if condition.op == "in":
        return f"{column} IN ({', '.join('?' * len(values))})", values
    op = "IS" if condition.op == "is not distinct from" else condition.op
    return f"{column} {op} ?", values
