"""The Python data source that streams ranges of a database table's rows."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import sqlalchemy as sa
from pyspark.sql.types import StructType

from millstream.connectors.database.columns import from_logged, to_logged
from millstream.connectors.database.target import Target
from millstream.connectors.lookup.types import Family
from millstream.connectors.python_source import NamedDataSource
from millstream.connectors.value_ranges import RangeStream, Value
from millstream.connectors.work_items import ITEM

SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class RangeSettings:
    """The table of a stream; has no secrets, because plans show it.

    Attributes:
        column: The incremental column, as the table spells it; empty: all rows are read once.
        kind: The family of its type.
        limit: Rows of a batch, about.
    """

    target: Target
    column: str
    kind: Family
    limit: int

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: str) -> RangeSettings:
        found: dict[str, Any] = json.loads(text)
        return cls(**found | {"target": Target(**found["target"])})

    @property
    def stream(self) -> RangeStream:
        return RangeStream(TableBounds(self) if self.column else None, self.limit)


class DatabaseRanges(NamedDataSource):
    called: ClassVar[str] = "millstream_database"

    def schema(self) -> str:
        return f"{ITEM} string"

    def streamReader(self, schema: StructType) -> RangeStream:  # noqa: ARG002, N802
        return RangeSettings.decoded(self.options[SETTINGS]).stream


@dataclass(frozen=True, slots=True)
class TableBounds:
    settings: RangeSettings

    def greatest(self, after: Value, to: Value, most: int | None) -> Value:
        settings = self.settings
        with settings.target.connected() as connection:
            table = settings.target.require(connection)
            column = table.c[settings.column]
            rows = sa.select(column.label("v")).where(
                column.is_not(None), *self.within(column, after, to)
            )
            if most is not None:
                rows = rows.order_by(column).limit(most)
            found = connection.execute(sa.select(sa.func.max(rows.subquery().c.v))).scalar()
        return to_logged(found)

    def within(
        self, column: sa.Column[Any], after: Value, to: Value
    ) -> list[sa.ColumnElement[bool]]:
        kind = self.settings.kind
        found: list[sa.ColumnElement[bool]] = []
        if after is not None:
            found.append(column > from_logged(after, kind, column.type))
        if to is not None:
            found.append(column <= from_logged(to, kind, column.type))
        return found
