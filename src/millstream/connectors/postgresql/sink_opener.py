"""Opens a PostgreSQL sink, or reports that psycopg is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import RunError
from millstream.plan.nodes import SinkDef

if TYPE_CHECKING:
    from millstream.connectors.postgresql.sink import PostgresSink


def open_sink(sink: SinkDef, base: Path) -> PostgresSink:
    try:
        from millstream.connectors.postgresql.sink import PostgresSink
    except ImportError:
        raise RunError(
            "MS-RUN-POSTGRESQL-DRIVER",
            f"sink {sink.name} writes to PostgreSQL, which needs psycopg, and psycopg is not "
            "installed.",
            fix="Install it: pip install 'millstream[postgresql]'.",
        ) from None
    return PostgresSink.open(sink, base)
