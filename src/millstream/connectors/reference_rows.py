"""Checks the rows of a reference table that was read whole."""

from __future__ import annotations

import pyarrow as pa

from millstream.errors import RunError
from millstream.kernels.table_join import HeldTable
from millstream.plan.nodes import Broadcast, Reference


def refuse_second_rows(table: Reference, rows: pa.Table) -> None:
    """Joins go by the primary key that a table declares."""
    if table.primary_key and not HeldTable(rows, table.primary_key).unique:
        raise RunError(
            "MS-RUN-TABLE-KEY",
            f"table {table.name} has several rows of one {', '.join(table.primary_key)}, its "
            "primary key.",
            fix="Mend the table, or its PRIMARY KEY.",
            place=table.place,
        )


def refuse_large(table: Reference, rows: pa.Table) -> None:
    """A table is held by every worker, so it has a limit."""
    access = table.access
    assert isinstance(access, Broadcast)
    if rows.num_rows > access.max_rows:
        what, limit = f"more than {access.max_rows:,} rows", "'broadcast.max_rows'"
    elif rows.nbytes > access.max_bytes:
        what, limit = f"{rows.nbytes:,} bytes", "'broadcast.max_bytes'"
    else:
        return
    raise RunError(
        "MS-RUN-TABLE-LARGE",
        f"table {table.name} has {what}, too many for every worker to hold.",
        fix="Ask a database by key (a table with 'connector' = 'postgresql'), or make it a stream "
        f"of versions with a WATERMARK, joined FOR SYSTEM_TIME AS OF; or raise {limit}.",
        place=table.place,
    )
