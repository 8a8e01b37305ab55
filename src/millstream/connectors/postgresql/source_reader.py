"""Reads work items of a PostgreSQL source on executors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from psycopg import sql

from millstream.connectors.dead_letters import BAD
from millstream.connectors.postgresql.change_rows import ChangeReader
from millstream.connectors.postgresql.copied_rows import copied_rows
from millstream.connectors.postgresql.initial_rows import InitialRows
from millstream.connectors.postgresql.pgoutput import INSERT
from millstream.connectors.postgresql.source_columns import SourceColumns
from millstream.connectors.postgresql.source_items import Item, ItemKind
from millstream.connectors.postgresql.source_table import SourceTable
from millstream.connectors.postgresql.target import Target


@dataclass(frozen=True, slots=True)
class PostgresReader:
    """Reads the items of one table.

    Attributes:
        column: The column of incremental reads in SQL, quoted, and its `type`.
    """

    target: Target
    table: SourceTable
    publication: str = ""
    ignores_truncate: bool = False
    column: str = ""
    type: str = ""
    min_part_bytes: ClassVar[int] = 1 << 40  # a work item is read by one task

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:  # noqa: ARG002
        return 0

    def read(
        self,
        path: str,
        wanted: Mapping[str, pa.DataType],
        part: int = 0,  # noqa: ARG002
        parts: int = 1,  # noqa: ARG002
    ) -> Iterator[pa.RecordBatch]:
        item = Item.decoded(path)
        columns = SourceColumns(self.target, self.table, wanted)
        for rows in self._rows(item, columns):
            bad = pa.nulls(rows.num_rows, pa.string())
            yield pa.RecordBatch.from_arrays([*rows.columns, bad], [*wanted, BAD])

    def _rows(self, item: Item, columns: SourceColumns) -> Iterator[pa.RecordBatch]:
        if item.kind is ItemKind.CHANGES:
            yield from self._changes(item).rows(columns)
        elif item.kind is ItemKind.INITIAL:
            yield from InitialRows(self._changes(item), item).rows(columns)
        else:
            names = columns.database_names
            condition = self._pages(item) if item.kind is ItemKind.PAGES else self._range(item)
            for texts in copied_rows(self.target, self.table, names, condition, item.snapshot):
                yield columns.rows(
                    dict(zip(names, texts.columns, strict=True)),
                    np.full(texts.num_rows, INSERT, np.int8),
                    np.full(texts.num_rows, item.lsn),
                    np.full(texts.num_rows, item.time),
                )

    def _changes(self, item: Item) -> ChangeReader:
        return ChangeReader(self.target, self.table, self.publication, self.ignores_truncate, item)

    def _pages(self, item: Item) -> sql.Composable:
        if self.table.kind not in ("r", "m"):  # a view has no pages
            return sql.SQL("true")
        found = [sql.SQL("ctid >= {}::tid").format(sql.Literal(f"({item.start},0)"))]
        if item.end:
            found.append(sql.SQL("ctid < {}::tid").format(sql.Literal(f"({item.end},0)")))
        return sql.SQL(" AND ").join(found)

    def _range(self, item: Item) -> sql.Composable:
        column, kind = sql.SQL(self.column), sql.SQL(self.type)
        found = [sql.SQL("{} <= {}::{}").format(column, sql.Literal(item.end), kind)]
        if item.start:
            found.append(sql.SQL("{} > {}::{}").format(column, sql.Literal(item.start), kind))
        return sql.SQL(" AND ").join(found)
