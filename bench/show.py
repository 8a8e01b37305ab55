"""A benchmark's result for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

_TITLES = {
    "throughput": "Whole run and steady state",
    "small": "Small micro-batches",
    "growth": "Time of a micro-batch as state grows, columnar",
    "lookups": "Lookups in a PostgreSQL on this machine",
    "hot": "One hot key",
    "open": "A million open groups, columnar",
    "behind": "Time of a micro-batch as closed windows pile up behind, columnar",
    "runtime_joins": "A project against the same joins in PySpark",
    "reads": "Reads of a large catalog",
    "kafka": "Kafka source and sink",
    "postgresql_sink": "PostgreSQL sink",
}


# Of wide tables, what fits a terminal; the rest is in --json.
_COLUMNS = {
    "throughput": (
        "query",
        "engine",
        "rows_per_second",
        "columnar_is",
        "steady_rows_per_second",
        "columnar_is_steady",
        "peak_memory_mb",
    )
}


def show(result: dict[str, Any]) -> None:
    console = Console()
    console.print(f"{result['benchmark']}: {result['settings']}, {result['machine']}")
    for part, title in _TITLES.items():
        rows = result.get(part)
        if not rows:
            continue
        table = Table(title=title, title_justify="left")
        names = _COLUMNS.get(part, tuple(rows[0]))
        for name in names:
            table.add_column(name.replace("_", " "), justify="right")
        for row in rows:
            table.add_row(*(_text(row[name]) for name in names))
        console.print(table)


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
