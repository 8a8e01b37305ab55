"""Names of columns that a PostgreSQL source adds to those of its table."""

from __future__ import annotations

OP = "_OP"  # the kind of a change
SYSTEM_COLUMNS = {"_timestamp": "TIMESTAMP", "_offset": "BIGINT"}
