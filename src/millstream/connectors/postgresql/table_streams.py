"""Streams the work items of a table: all of its pages once, or rows with new values of a column."""

from __future__ import annotations

from typing import ClassVar

from psycopg import sql

from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.slots import lsn_of
from millstream.connectors.postgresql.source_items import Item, ItemKind
from millstream.connectors.postgresql.source_streams import (
    ItemSource,
    ItemStream,
    Offset,
    StreamSettings,
    now_and_position,
)
from millstream.connectors.postgresql.target import Session

_PAGES = 8192  # of an item: 64 MB
_SIZE = "SELECT pg_relation_size(%s::oid) / current_setting('block_size')::int"
_EXPORT = "SELECT pg_export_snapshot()"


class PageStream(ItemStream):
    """Reads the table once. All items read the snapshot of one transaction, which this process
    keeps open while the micro-batch runs."""

    def __init__(self, settings: StreamSettings) -> None:
        super().__init__(settings)
        self._exporter: Connection | None = None

    def next_offset(self, start: Offset, most: int | None) -> Offset:  # noqa: ARG002
        self._end_snapshot()
        if start:
            return start

        def query(connection: Connection) -> Offset:
            row = connection.execute(_SIZE, [self.settings.oid]).fetchone()
            assert row is not None
            return {"pages": str(row[0] or 0), **now_and_position(connection)}

        return self.session.run(query)

    def items(self, start: Offset, end: Offset) -> list[Item]:  # noqa: ARG002
        snapshot = self._export_snapshot()
        found = []
        pages = int(end["pages"])
        for first in range(0, max(pages, 1), _PAGES):
            last = first + _PAGES
            found.append(
                Item(
                    ItemKind.PAGES,
                    str(first),
                    str(last) if last < pages else "",  # the table may have grown
                    snapshot=snapshot,
                    lsn=lsn_of(end["lsn"]),
                    time=int(end["time"]),
                )
            )
        return found

    def stop(self) -> None:
        self._end_snapshot()
        super().stop()

    def _export_snapshot(self) -> str:
        self._end_snapshot()
        self._exporter = Session(self.settings.target).take()
        self._exporter.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        row = self._exporter.execute(_EXPORT).fetchone()
        assert row is not None
        return str(row[0])

    def _end_snapshot(self) -> None:
        if self._exporter is not None:
            self._exporter.close()
        self._exporter = None


class RangeStream(ItemStream):
    """Reads rows whose column is greater than before. The end of a micro-batch is fixed here, so
    that a retried batch reads the same range."""

    def __init__(self, settings: StreamSettings) -> None:
        super().__init__(settings)
        self._target: str | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        super().prepareForTriggerAvailableNow()
        self._target = self.session.run(lambda each: self._last(each, "", None)) or ""

    def next_offset(self, start: Offset, most: int | None) -> Offset:
        if self._target == "":
            return start

        def query(connection: Connection) -> Offset:
            last = self._last(connection, start.get("until", ""), most)
            return start if last is None else {"until": last, **now_and_position(connection)}

        return self.session.run(query)

    def items(self, start: Offset, end: Offset) -> list[Item]:
        return [
            Item(
                ItemKind.RANGE,
                start.get("until", ""),
                end["until"],
                lsn=lsn_of(end["lsn"]),
                time=int(end["time"]),
            )
        ]

    def _last(self, connection: Connection, after: str, most: int | None) -> str | None:
        """Returns the last value of the next rows; None if there are none."""
        given = self.settings
        column, kind = sql.SQL(given.column), sql.SQL(given.type)
        condition = sql.SQL("{} IS NOT NULL").format(column)
        if after:
            condition = sql.SQL("{} > {}::{}").format(column, sql.Literal(after), kind)
        if self._target:
            until = sql.SQL(" AND {} <= {}::{}").format(column, sql.Literal(self._target), kind)
            condition = sql.Composed([condition, until])
        if most is None:
            text = sql.SQL("SELECT max({0})::text FROM {1} WHERE {2}")
            statement = text.format(column, sql.SQL(given.table), condition)
        else:
            text = sql.SQL(
                "SELECT max(v)::text FROM"
                " (SELECT {0} AS v FROM {1} WHERE {2} ORDER BY {0} LIMIT {3}) AS rows"
            )
            table = sql.SQL(given.table)
            statement = text.format(column, table, condition, sql.Literal(most))
        row = connection.execute(statement).fetchone()
        return None if row is None or row[0] is None else str(row[0])


class PageSource(ItemSource):
    called: ClassVar[str] = "millstream_postgresql_snapshot"
    stream = PageStream


class RangeSource(ItemSource):
    called: ClassVar[str] = "millstream_postgresql_incremental"
    stream = RangeStream
