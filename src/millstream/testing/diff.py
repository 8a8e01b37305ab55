"""The difference between the rows a case expects and the rows that came: as bags, in any order."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches

from millstream.errors import HarnessError
from millstream.testing import both_engines as pair
from millstream.testing.case import Expected, Row
from millstream.testing.compare import Mark, expected_mark, kind, mark

SHOWN = 20  # rows of each sign; more would not be read
_LOOKS_OTHER = re.compile(
    r"^$|^\s|\s$|[\n\r\t]|^[-+.\d][\d.eE+-]*$|^(?:null|true|false|nan)$", re.IGNORECASE
)


_OP = "_OP"
_TAKEN_BACK = ("-U", "-D")


@dataclass(frozen=True, slots=True)
class Table:
    """What came out of one sink or port. A datetime without a zone is UTC."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """Rows that did not come, rows that came unasked, and how many were right."""

    sink: str
    columns: tuple[str, ...]
    missing: tuple[Row, ...]
    unexpected: tuple[Row, ...]
    equal: int

    def __bool__(self) -> bool:
        """Is there a difference?"""
        return bool(self.missing or self.unexpected)

    def __str__(self) -> str:
        counts = (
            f"{self.sink}: {len(self.missing)} missing (-), {len(self.unexpected)} unexpected (+), "
            f"{self.equal} as expected"
        )
        return "\n".join([counts, *self._table()]) if self else counts

    def _table(self) -> list[str]:
        """Signed rows, aligned; rows that are alike stand together, the missing one first."""
        lines = [
            (sign, [cell(row.get(name)) for name in self.columns])
            for sign, rows in (("-", self.missing), ("+", self.unexpected))
            for row in rows[:SHOWN]
        ]
        lines.sort(key=lambda line: (line[1], "-+".index(line[0])))
        lines.insert(0, (" ", list(self.columns)))
        widths = [max(len(cells[i]) for _, cells in lines) for i in range(len(self.columns))]
        table = [
            f"  {sign} " + "  ".join(map(str.ljust, cells, widths)).rstrip()
            for sign, cells in lines
        ]
        for sign, rows in (("-", self.missing), ("+", self.unexpected)):
            if len(rows) > SHOWN:
                table.append(f"  {sign} … and {len(rows) - SHOWN} more")
        return table


def cell(value: object) -> str:
    """A value as a diff shows it; a text that could be taken for something else is quoted."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if _LOOKS_OTHER.search(value) else value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        moment = value.astimezone(UTC) if value.tzinfo else value
        return moment.replace(tzinfo=None).isoformat(sep="T") + "Z"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {cell(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(cell, value)) + "]"
    return str(value)


def applied(changes: Table) -> Table:
    """The rows that are left when all changes are applied: those that came and were not taken back.

    A row that is taken back without having come is left as it is, `_OP` and all: it is a fault.
    """
    if _OP not in changes.columns:
        return changes
    columns = tuple(name for name in changes.columns if name != _OP)
    left: dict[tuple[Mark, ...], list[Row]] = {}
    wrong = []
    for row in sorted(changes.rows, key=lambda row: row[_OP] in _TAKEN_BACK):
        key = tuple(mark(row.get(name)) for name in columns)
        if row[_OP] not in _TAKEN_BACK:
            left.setdefault(key, []).append({name: row.get(name) for name in columns})
        elif left.get(key):
            left[key].pop()
        else:
            wrong.append(row)
    rows = [row for rows in left.values() for row in rows]
    return Table((*columns, _OP) if wrong else columns, (*rows, *wrong))


def compare(sink: str, expected: Expected, actual: Table) -> Diff:
    """The bag difference. A row that lacks a column, or has one too many, is the case's error."""
    if expected.applied:
        actual = applied(actual)
    _same_columns(sink, expected, actual.columns)
    kinds = {
        name: tuple(dict.fromkeys(kind(row.get(name)) for row in actual.rows))
        for name in actual.columns
    }
    wanted = [
        tuple(expected_mark(row[name], kinds[name], text=expected.text) for name in actual.columns)
        for row in expected.rows
    ]
    came = [tuple(mark(row.get(name)) for name in actual.columns) for row in actual.rows]
    tolerances = [expected.tolerance(name) for name in actual.columns]
    if any(tolerance is not None for tolerance in tolerances):
        pairs = pair.nearest(wanted, came, tolerances)
    else:
        pairs = pair.equal(wanted, came)
    right = set(pairs.values())
    return Diff(
        sink,
        actual.columns,
        tuple(row for i, row in enumerate(expected.rows) if i not in pairs),
        tuple(row for i, row in enumerate(actual.rows) if i not in right),
        len(pairs),
    )


def _same_columns(sink: str, expected: Expected, columns: Sequence[str]) -> None:
    for number, row in enumerate(expected.rows, 1):
        where = f"expected row {number} of {sink}"
        for name in row:
            if name not in columns:
                near_names = get_close_matches(name, columns, n=1)
                raise HarnessError(
                    "MS-TEST-COLUMNS",
                    f"{where} has a column {name!r} that {sink} lacks.",
                    fix=f"Did you mean {near_names[0]!r}?"
                    if near_names
                    else f"{sink} has {', '.join(columns)}.",
                )
        absent = [name for name in columns if name not in row]
        if absent:
            raise HarnessError(
                "MS-TEST-COLUMNS",
                f"{where} lacks {', '.join(absent)}.",
                fix="Rows are compared whole: write every column, NULL as null.",
            )
