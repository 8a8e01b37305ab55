"""Checks the rows of a reference table that was read completely."""

from __future__ import annotations

import pyarrow as pa

from millstream.errors import RunError
from millstream.kernels.table_join import IndexedTable
from millstream.plan.nodes import Broadcast, ReferenceTable


def reject_duplicate_keys(table: ReferenceTable, rows: pa.Table) -> None:
    """Rejects a table with several rows per primary key, which joins rely on."""
    if table.primary_key and not IndexedTable(rows, table.primary_key).unique:
        raise RunError(
            "MS-RUN-TABLE-KEY",
            f"table {table.name} has several rows with the same primary key "
            f"({', '.join(table.primary_key)}).",
            fix="Correct the rows of the table or its PRIMARY KEY.",
            place=table.place,
        )


def reject_oversized_table(table: ReferenceTable, rows: pa.Table) -> None:
    """Rejects a table that exceeds its limits: every worker loads all of it into memory."""
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
        f"table {table.name} has {what}, too many for a broadcast: every worker loads the whole "
        "table into memory.",
        fix="Look rows up by key (a table with 'connector' = 'postgresql'), declare a versioned "
        f"table with a WATERMARK and join it FOR SYSTEM_TIME AS OF, or raise {limit}.",
        place=table.place,
    )
