"""Duplicate keys of a version's rows, and the error that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

from millstream.catalog.model import Dataset, TemporalMode
from millstream.connectors.file.rejections import shown_path
from millstream.errors import CatalogError


@dataclass(frozen=True, slots=True)
class KeyConflict:
    """Two rows with the same key.

    `rows` are their files and numbers; the file is empty for a table of a database. `intervals` are
    their days of validity in the bitemporal mode.
    `order` is the position of the later row.
    """

    key: tuple[tuple[str, Any], ...]
    rows: tuple[tuple[str, int], ...]
    intervals: tuple[tuple[date, date | None], ...]
    order: tuple[int, int]

    def __str__(self) -> str:
        key = ", ".join(f"{name} = {_value(value)}" for name, value in self.key)
        if not any(file for file, _ in self.rows):  # rows of a database table have no numbers
            intervals = " and ".join(_interval(*each) for each in self.intervals)
            return f"{key}: {intervals}" if intervals else key
        shown = [f"row {number:,}" for _, number in self.rows]
        files = {file for file, _ in self.rows}
        if len(files) > 1:
            shown = [
                f"{row} of {shown_path(file)}"
                for row, (file, _) in zip(shown, self.rows, strict=True)
            ]
        if self.intervals:
            shown = [
                f"{_interval(*each)} in {row}"
                for row, each in zip(shown, self.intervals, strict=True)
            ]
        where = "" if len(files) > 1 else f" of {shown_path(files.pop())}"
        return f"{key}: {' and '.join(shown)}{where}"


@dataclass(frozen=True, slots=True)
class Duplicates:
    """The first conflicts, and the number of all keys that have one."""

    SHOWN: ClassVar[int] = 3

    conflicts: tuple[KeyConflict, ...]
    keys: int

    def error(self, dataset: Dataset) -> CatalogError:
        """Returns MS-CATALOG-KEY-DUPLICATE, with the conflicts that are shown."""
        table = dataset.table
        key = ", ".join(table.key)
        lines = "".join(f"\n  {each}" for each in self.conflicts)
        if (more := self.keys - len(self.conflicts)) > 0:
            lines += f"\n  and {more:,} more"
        if table.temporal_mode is TemporalMode.BITEMPORAL:
            cause = f"intervals [_period_from, _period_to) of the same key ({key}) overlap:"
            fix = "End an interval on the first day of the next one, or change the key."
        else:
            inside = " in one period" if table.temporal_mode is TemporalMode.PERIOD else ""
            cause = f"rows have the same key ({key}){inside}:"
            fix = "Remove the duplicates, or add a column to the key."
        return CatalogError("MS-CATALOG-KEY-DUPLICATE", f"{dataset.name}: {cause}{lines}", fix=fix)


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, str | bytes) else str(value)


def _interval(start: date, end: date | None) -> str:
    return f"[{start}, {'open' if end is None else end})"
