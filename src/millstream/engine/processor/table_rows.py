"""The part of a table join that runs on workers: looks up the rows of a chunk by their keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.dead_letters import LOOKUP_FAILED, Rejection, dead_letters
from millstream.connectors.lookup.entries import NUMBER, REASON
from millstream.connectors.versions import Version, Versions
from millstream.engine.shuffle.column_names import (
    MAIN,
    NOW,
    ORIGIN,
    PAYLOAD,
    REJECTED,
    ROW_KIND,
    STATS,
)
from millstream.engine.shuffle.format import TABLES, encode
from millstream.engine.shuffle.packer import chunks
from millstream.errors import RunError
from millstream.kernels.table_join import (
    IndexedTable,
    TableMatches,
    evaluate_condition,
    matches_from_pairs,
)
from millstream.values import Condition

if TYPE_CHECKING:
    from millstream.connectors.lookup.lookups import Lookups
    from millstream.connectors.lookup.spec import LookupSpec

FOUND = "_ms_found"
FAILED = "_ms_failed"  # the lookup failed; the row goes to the dead-letter queue
_ROW, _PLACE = "_ms_row", "_ms_place"


@dataclass(frozen=True, slots=True)
class TableLookup:
    """How the rows of a chunk are looked up in a table.

    Attributes:
        number: The number of the table join in the query.
        name: The name of the table.
        keys: The key columns of the chunk, in the types of the table's columns. Not in the result.
        left_columns: The columns of the chunk that are in the result.
        columns: The columns of the table that are in the result.
        schema: The schema of the result.
        first: Whether one match is enough.
        requires_unique_key: Whether the join relies on one row per key.
        raw_column: The column with the text of a row, for failed lookups.
    """

    number: int
    name: str
    keys: tuple[str, ...]
    left_columns: tuple[str, ...]
    columns: tuple[str, ...]
    schema: pa.Schema
    first: bool
    requires_unique_key: bool
    raw_column: str | None = None


class Table(Protocol):
    """A table on a worker."""

    def find(
        self, keys: list[pl.Series], now: int, *, first: bool
    ) -> tuple[TableMatches, dict[int, str]]: ...

    def counts(self) -> dict[str, int]: ...


@dataclass(slots=True)
class _LocalTable:
    """A table whose current version is in the memory of the worker."""

    versions: Versions
    keys: tuple[str, ...]
    conditions: tuple[Condition, ...]
    version: Version | None = None
    table: IndexedTable | None = None
    requests: int = 0
    hits: int = 0

    def find(
        self, keys: list[pl.Series], now: int, *, first: bool
    ) -> tuple[TableMatches, dict[int, str]]:
        version = self.versions.at(now)
        if self.table is None or version != self.version:
            self.version = version
            self.table = IndexedTable(self._rows(version), self.keys)
        found = self.table.find(keys, first=first)
        self.requests += pl.DataFrame(keys).drop_nulls().height
        self.hits += len(np.unique(found.left[found.right >= 0]))
        return found, {}

    def _rows(self, version: Version) -> pa.Table:
        rows = self.versions.rows(version)
        for condition in self.conditions:
            rows = rows.filter(evaluate_condition(condition, rows[condition.column]))
        return rows

    def counts(self) -> dict[str, int]:
        return {"requested": self.requests, "found": self.hits}


@dataclass(slots=True)
class _DatabaseTable:
    """A table that is looked up in its database."""

    lookups: Lookups

    def find(
        self, keys: list[pl.Series], now: int, *, first: bool
    ) -> tuple[TableMatches, dict[int, str]]:
        spec = self.lookups.spec
        requests = pl.DataFrame(
            [key.alias(name) for key, name in zip(keys, spec.keys, strict=True)]
        )
        requests = requests.with_row_index(_ROW).drop_nulls()
        distinct = requests.select(spec.keys).unique(maintain_order=True).with_row_index(NUMBER)
        found = self.lookups.find(distinct.select(spec.keys))
        numbered = requests.join(distinct, on=list(spec.keys), how="left", maintain_order="left")
        rows = found.rows.with_row_index(_PLACE)
        pairs = numbered.select(_ROW, NUMBER).join(
            rows.select(NUMBER, _PLACE), on=NUMBER, how="inner", maintain_order="left_right"
        )
        matches = matches_from_pairs(
            len(keys[0]),
            pairs[_ROW].to_numpy().astype(np.int64),
            pairs[_PLACE].to_numpy().astype(np.int64),
            found.rows.drop(NUMBER).to_arrow(),
            first=first,
        )
        failed = numbered.join(found.failed, on=NUMBER, how="inner")
        return matches, dict(zip(failed[_ROW], failed[REASON], strict=True))

    def counts(self) -> dict[str, int]:
        return dict(self.lookups.counts)


_LOCAL_TABLES: dict[tuple[object, ...], _LocalTable] = {}  # tables stay loaded from batch to batch


def local_table(
    name: str, folder: str, keys: tuple[str, ...], conditions: tuple[Condition, ...]
) -> Callable[[], Table]:
    def open_table() -> Table:
        table = _LocalTable(Versions(name, Path(folder)), keys, conditions)
        return _LOCAL_TABLES.setdefault((folder, keys, conditions), table)

    return open_table


def database_table(spec: LookupSpec) -> Callable[[], Table]:
    def open_table() -> Table:
        from millstream.connectors.lookup.lookups import get_lookups  # few jobs read a database

        return _DatabaseTable(get_lookups(spec))

    return open_table


def lookup_function(
    lookup: TableLookup, open_table: Callable[[], Table]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that `mapInArrow` runs."""

    def look_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = open_table()
        before = table.counts()
        rows = copies = failed_rows = 0
        for chunk in chunks(batches):
            found, failed = _find(lookup, table, chunk)
            rows += _count_data_rows(chunk)
            copies += found.left.size - len(chunk)
            if lookup.requires_unique_key and found.left.size > len(chunk):
                raise _not_unique(lookup)
            yield from _joined_rows(lookup, chunk, found, failed).to_batches()
            if failed and lookup.raw_column is not None:
                failed_rows += len(failed)
                yield _side_row(lookup, REJECTED, encode(_dead_letters(lookup, chunk, failed)))
        if rows:
            after = table.counts()
            counts = {what: after[what] - before.get(what, 0) for what in after}
            counts["copies"] = copies
            counts["failed_rows"] = failed_rows
            stats = {"table": lookup.name, "number": lookup.number, "rows": rows, "counts": counts}
            yield _side_row(lookup, STATS, json.dumps(stats).encode())

    return look_up


def _count_data_rows(chunk: pa.Table) -> int:
    """The number of data rows, without side rows."""
    if ROW_KIND not in chunk.column_names:
        return len(chunk)
    return int(pc.sum(pc.equal(chunk[ROW_KIND], MAIN)).as_py() or 0)


def _not_unique(lookup: TableLookup) -> RunError:
    return RunError(
        "MS-RUN-TABLE-KEY",
        f"table {lookup.name} has several rows with the same primary key, and the join relies "
        "on one.",
        fix="Remove the duplicates, or correct the PRIMARY KEY.",
    )


def _find(
    lookup: TableLookup, table: Table, chunk: pa.Table
) -> tuple[TableMatches, dict[int, str]]:
    keys = [pl.Series(name, chunk[name]) for name in lookup.keys]
    return table.find(keys, chunk[NOW][0].as_py(), first=lookup.first)


def _joined_rows(
    lookup: TableLookup, chunk: pa.Table, found: TableMatches, failed: dict[int, str]
) -> pa.Table:
    left = pa.array(found.left)
    columns = {name: chunk[name].take(left) for name in lookup.left_columns}
    columns |= dict(
        zip(
            (f"_ms_r{i}" for i in range(len(lookup.columns))),
            found.columns(lookup.columns),
            strict=True,
        )
    )
    columns[FOUND] = found.found
    count = found.left.size
    if lookup.raw_column is not None:
        bad = np.isin(found.left, np.fromiter(failed, np.int64, len(failed)))
        columns[FAILED] = pa.array(bad)
    if ROW_KIND not in columns:
        columns[ROW_KIND] = pa.repeat(pa.scalar(MAIN, pa.int8()), count)
        columns[ORIGIN] = pa.nulls(count, pa.int32())
        columns[PAYLOAD] = pa.nulls(count, pa.binary())
    return pa.table(columns).select(lookup.schema.names).cast(lookup.schema)


def _dead_letters(lookup: TableLookup, chunk: pa.Table, failed: dict[int, str]) -> pa.Table:
    rows = sorted(failed)
    raw = chunk[cast("str", lookup.raw_column)].take(pa.array(rows)).cast(pa.string()).to_pylist()
    rejections = (
        Rejection(LOOKUP_FAILED, failed[row], text) for row, text in zip(rows, raw, strict=True)
    )
    return dead_letters(lookup.name, rejections, chunk[NOW][0].as_py())


def _side_row(lookup: TableLookup, kind: int, payload: bytes) -> pa.RecordBatch:
    """A packet as a side row."""
    values = {
        ROW_KIND: pa.array([kind], pa.int8()),
        ORIGIN: pa.array([TABLES + lookup.number], pa.int32()),
        PAYLOAD: pa.array([payload], pa.binary()),
    }
    arrays = [values.get(field.name, pa.nulls(1, field.type)) for field in lookup.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=lookup.schema)
