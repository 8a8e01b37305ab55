"""Streams the rows of a PostgreSQL table through a server-side cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from psycopg import sql

from millstream.connectors.jdbc.filters import ScanFilter
from millstream.connectors.lookup.failures import query_rejected
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import Family, family
from millstream.connectors.lookup.values import to_frame
from millstream.connectors.postgresql.columns import PLAIN_TEXT, check_type, expression, reader
from millstream.connectors.postgresql.connect import bounded, connect
from millstream.connectors.postgresql.describe import Column, describe, quote_name

_ROWS = 10_000  # per fetch and record batch

# Without floating-point types: PostgreSQL orders NaN differently.
COMPARABLE: frozenset[Family] = frozenset(
    {"boolean", "whole", "decimal", "string", "date", "timestamp", "timestamp_ntz"}
)


def scan(spec: LookupSpec, filters: Sequence[ScanFilter]) -> Iterator[pa.RecordBatch]:
    """Yields the rows that pass all filters, with the columns of `spec`."""
    connection = connect(spec)
    try:
        with bounded(connection, spec):
            connection.autocommit = False  # a server-side cursor needs a transaction
            table = describe(spec, connection)
        for name in spec.read:
            check_type(spec, name, table.columns[name])
        columns = [expression(spec, name, table.columns[name]) for name in spec.read]
        conditions = [_condition(spec, each, table.columns[each.column]) for each in filters]
        statement = sql.SQL("SELECT {} FROM {} WHERE {}").format(
            sql.SQL(", ").join(columns),
            quote_name(table.schema, table.name),
            sql.SQL(" AND ").join([sql.SQL("true"), *(text for text, _ in conditions)]),
        )
        parameters = [value for _, values in conditions for value in values]
        readers = {name: reader(spec.schema.field(name).type) for name in spec.read}
        known = {name: found for name, found in readers.items() if found}
        cursor = connection.cursor("millstream_scan", binary=True)
        with bounded(connection, spec):
            cursor.execute(statement, parameters)
        while rows := _fetch(spec, connection, cursor):
            yield from to_frame(spec, rows, known).to_arrow().cast(spec.schema).to_batches()
    finally:
        connection.close()


def _fetch(spec: LookupSpec, connection: Any, cursor: Any) -> list[tuple[Any, ...]]:
    with bounded(connection, spec):
        try:
            rows: list[tuple[Any, ...]] = cursor.fetchmany(_ROWS)
        except UnicodeDecodeError:
            raise query_rejected(spec, "it contains a string that is not UTF-8") from None
        return rows


def _condition(
    spec: LookupSpec, condition: ScanFilter, column: Column
) -> tuple[sql.Composable, list[Any]]:
    declared = family(spec.schema.field(condition.column).type)
    operand = expression(spec, condition.column, column)
    if not condition.values:
        return sql.SQL("{} " + condition.op.upper()).format(operand), []
    if declared == "string":
        # Spark compares strings byte by byte. Under a deterministic collation, equality is the
        # same and can use an index of the column.
        equality = condition.op in ("=", "in", "is not distinct from")
        if not (equality and column.exact and column.type in PLAIN_TEXT):
            operand = sql.SQL('{} COLLATE "C"').format(operand)
    if condition.op == "in":
        return sql.SQL("{} = ANY(%s)").format(operand), [list(condition.values)]
    return sql.SQL("{} " + condition.op.upper() + " %s").format(operand), list(condition.values)
