"""Databases that the tests of the connector reach through SQLAlchemy, and sinks on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.connectors.database.sink import DatabaseSink
from millstream.plan.nodes import SinkDef


@dataclass(frozen=True)
class Database:
    """`options` are properties of a sink or source."""

    url: str
    options: dict[str, str] = field(default_factory=dict)
    engine: sa.Engine | None = None

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Runs statements; returns the rows of the last."""
        found: list[tuple[Any, ...]] = []
        assert self.engine is not None
        with self.engine.begin() as connection:
            for each in statements:
                done = connection.execute(sa.text(each))
                found = [tuple(row) for row in done] if done.returns_rows else []
        return found

    def rows(self) -> list[tuple[Any, ...]]:
        return self.run("SELECT * FROM results ORDER BY 1, 2")


def sink_on(database: Database, schema: pa.Schema, **options: str) -> DatabaseSink:
    """Returns a sink that is ready to write rows of a schema."""
    given = {"url": database.url, "table": "results", **database.options}
    given |= {name.replace("_", "."): value for name, value in options.items()}
    sink = DatabaseSink.opened(SinkDef("out", "database", tuple(given.items())), Path())
    sink._prepare(from_arrow_schema(schema))
    return sink
