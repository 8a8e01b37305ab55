"""Looks up rows of a database by their keys, with SQLAlchemy's pool of connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa
import sqlalchemy as sa

from millstream.connectors.database.columns import to_array
from millstream.connectors.database.target import Target
from millstream.connectors.lookup.failures import (
    UnreachableError,
    find_name,
    wrong_key,
    wrong_value,
)
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import family
from millstream.errors import RunError
from millstream.values import Condition

_KEYS = ("whole", "string", "boolean", "date")
_SAMPLE = 100  # rows that are read before the job starts, to check their types


class DatabaseStore:
    advice: ClassVar[str] = "Check 'url', 'user' and the password."

    def __init__(self, spec: LookupSpec) -> None:
        self._spec = spec
        self._target = Target.of(f"table {spec.table}", spec, Path.cwd())
        self._table: sa.Table | None = None

    def fetch(self, keys: pl.DataFrame) -> pl.DataFrame:
        def rows(connection: sa.Connection, table: sa.Table) -> Any:
            own = [self._column(table, name) for name in self._spec.keys]
            values = keys.select(self._spec.keys)
            requested: sa.ColumnElement[bool]
            if len(own) == 1:
                requested = own[0].in_(values.to_series().to_list())
            else:
                requested = sa.or_(
                    *(
                        sa.and_(*(c == v for c, v in zip(own, row, strict=True)))
                        for row in values.rows()
                    )
                )
            return connection.execute(self._select(table).where(requested))

        return self._frame(rows)

    def first_rows(self, limit: int) -> pl.DataFrame:
        return self._frame(
            lambda connection, table: connection.execute(self._select(table).limit(limit))
        )

    def check(self) -> None:
        for name in self._spec.keys:
            kind = self._spec.schema.field(name).type
            if family(kind) not in _KEYS:
                raise wrong_key(self._spec, name, kind, "a database")
        self.first_rows(_SAMPLE)

    def close(self) -> None: ...

    def _frame(self, run: Any) -> pl.DataFrame:
        spec = self._spec
        try:
            with self._target.connected() as connection:
                if self._table is None:
                    self._table = self._target.require(connection)
                rows = run(connection, self._table).all()
        except RunError as error:
            if error.code == "MS-RUN-DATABASE-FAILED":
                raise UnreachableError(error.cause) from None
            raise
        columns = list(zip(*rows, strict=True)) or [()] * len(spec.read)
        arrays = []
        for name, values in zip(spec.read, columns, strict=True):
            try:
                arrays.append(to_array(values, spec.schema.field(name).type))
            except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, ArithmeticError):
                raise wrong_value(spec, name, "a value of another type", "") from None
        made = pl.from_arrow(pa.Table.from_arrays(arrays, list(spec.read)))
        assert isinstance(made, pl.DataFrame)
        return made

    def _select(self, table: sa.Table) -> sa.Select[Any]:
        found = sa.select(*(self._column(table, name) for name in self._spec.read))
        return found.where(*(self._condition(table, each) for each in self._spec.conditions))

    def _column(self, table: sa.Table, name: str) -> sa.Column[Any]:
        return table.c[find_name(self._spec, "column", name, table.columns.keys())]

    def _condition(self, table: sa.Table, condition: Condition) -> sa.ColumnElement[bool]:
        column = self._column(table, condition.column)
        if not condition.values:
            return column.is_(None) if condition.op == "null" else column.is_not(None)
        if condition.op == "in":
            return column.in_(list(condition.values))
        return column.op(condition.op, is_comparison=True)(condition.values[0])
