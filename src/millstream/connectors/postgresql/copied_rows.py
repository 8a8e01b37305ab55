"""Reads rows of a query with COPY, as columns of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import psycopg
import pyarrow as pa
import pyarrow.csv
from psycopg import sql

from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.source_table import SourceTable
from millstream.connectors.postgresql.target import Session, Target, UnavailableError
from millstream.connectors.postgresql.text_values import SETTINGS

_BLOCK = 4 << 20  # bytes


def prepare(connection: Connection) -> None:
    """Sets how the session writes values, for the transaction."""
    for each in SETTINGS:
        connection.execute(f"SET LOCAL {each}".encode())


def copied_rows(
    target: Target,
    table: SourceTable,
    names: Sequence[str],
    condition: sql.Composable,
    snapshot: str = "",
) -> Iterator[pa.RecordBatch]:
    """Yields the columns `names` of the rows that satisfy a condition, in a transaction that reads
    an exported snapshot if one is given."""
    try:
        # A connection that is lost later ends the task: another one would read other rows.
        with Session(target).take() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if snapshot:
                text = sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot))
                connection.execute(text)
            yield from copy_blocks(connection, table, names, condition)
    except psycopg.Error as error:
        raise interrupted(target, error) from None


def interrupted(target: Target, error: psycopg.Error) -> Exception:
    """Returns the error of a read that cannot continue on another connection."""
    found = target.translate(error)
    return target.unavailable(str(found), 0) if isinstance(found, UnavailableError) else found


def copy_blocks(
    connection: Connection,
    table: SourceTable,
    names: Sequence[str],
    condition: sql.Composable,
    *,
    only: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yields rows in the connection's transaction. `only`: without those of tables that inherit."""
    prepare(connection)
    columns = sql.SQL(", ").join(map(sql.Identifier, names)) if names else sql.SQL("1")
    statement = sql.SQL(
        "COPY (SELECT {} FROM {}{} WHERE {}) TO STDOUT (FORMAT csv, ENCODING 'UTF8')"
    ).format(columns, sql.SQL("ONLY " if only else ""), table.identifier, condition)
    block, size = list[bytes](), 0
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in copy:
            block.append(bytes(row))
            size += len(row)
            if size >= _BLOCK:
                yield _parsed(block, size, max(1, len(names)))
                block, size = [], 0
    if block:
        yield _parsed(block, size, max(1, len(names)))


def _parsed(block: list[bytes], size: int, columns: int) -> pa.RecordBatch:
    names = [f"c{number}" for number in range(columns)]
    table = pyarrow.csv.read_csv(
        pa.BufferReader(b"".join(block)),
        read_options=pyarrow.csv.ReadOptions(
            column_names=names, block_size=size + 1, use_threads=False
        ),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    (rows,) = table.combine_chunks().to_batches()
    return rows
