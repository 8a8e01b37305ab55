"""Computes the difference of expected and actual rows as multisets, in any order."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches

from millstream.errors import HarnessError
from millstream.testing.case import ExpectedOutput, Row
from millstream.testing.compare import (
    ComparisonKey,
    comparison_key,
    expected_key,
    kind,
    pair_close,
    pair_equal,
)

SHOWN = 20  # maximum rows per sign in a diff
_LOOKS_OTHER = re.compile(
    r"^$|^\s|\s$|[\n\r\t]|^[-+.\d][\d.eE+-]*$|^(?:null|true|false|nan)$", re.IGNORECASE
)


_OP = "_OP"
_RETRACTIONS = ("-U", "-D")


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one sink or side output. A datetime without a time zone is in UTC."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """The missing rows, the unexpected rows, and the number of equal rows."""

    sink: str
    columns: tuple[str, ...]
    missing: tuple[Row, ...]
    unexpected: tuple[Row, ...]
    equal: int

    def __bool__(self) -> bool:
        """Whether there is a difference."""
        return bool(self.missing or self.unexpected)

    def __str__(self) -> str:
        counts = (
            f"{self.sink}: {len(self.missing)} missing (-), {len(self.unexpected)} unexpected (+), "
            f"{self.equal} as expected"
        )
        return "\n".join([counts, *self._table()]) if self else counts

    def _table(self) -> list[str]:
        """Returns rows with signs in aligned columns, sorted by value so that similar rows are
        adjacent."""
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
    """Formats a value for a diff; strings that look like another type are quoted."""
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


def apply_changes(changes: Table) -> Table:
    """Applies all changes and returns the remaining rows.

    A retraction without a previous row is an error of the query, so it remains, with its `_OP`.
    """
    if _OP not in changes.columns:
        return changes
    columns = tuple(name for name in changes.columns if name != _OP)
    left: dict[tuple[ComparisonKey, ...], list[Row]] = {}
    wrong = []
    for row in sorted(changes.rows, key=lambda row: row[_OP] in _RETRACTIONS):
        key = tuple(comparison_key(row.get(name)) for name in columns)
        if row[_OP] not in _RETRACTIONS:
            left.setdefault(key, []).append({name: row.get(name) for name in columns})
        elif left.get(key):
            left[key].pop()
        else:
            wrong.append(row)
    rows = [row for rows in left.values() for row in rows]
    return Table((*columns, _OP) if wrong else columns, (*rows, *wrong))


def compare(sink: str, expected: ExpectedOutput, actual: Table) -> Diff:
    """Compares the rows of a sink; raises HarnessError if an expected row has other columns."""
    if expected.applied:
        actual = apply_changes(actual)
    _same_columns(sink, expected, actual.columns)
    kinds = {
        name: tuple(dict.fromkeys(kind(row.get(name)) for row in actual.rows))
        for name in actual.columns
    }
    expected_keys = [
        tuple(expected_key(row[name], kinds[name], text=expected.text) for name in actual.columns)
        for row in expected.rows
    ]
    actual_keys = [
        tuple(comparison_key(row.get(name)) for name in actual.columns) for row in actual.rows
    ]
    tolerances = [expected.tolerance(name) for name in actual.columns]
    if any(tolerance is not None for tolerance in tolerances):
        pairs = pair_close(expected_keys, actual_keys, tolerances)
    else:
        pairs = pair_equal(expected_keys, actual_keys)
    right = set(pairs.values())
    return Diff(
        sink,
        actual.columns,
        tuple(row for i, row in enumerate(expected.rows) if i not in pairs),
        tuple(row for i, row in enumerate(actual.rows) if i not in right),
        len(pairs),
    )


def _same_columns(sink: str, expected: ExpectedOutput, columns: Sequence[str]) -> None:
    for number, row in enumerate(expected.rows, 1):
        where = f"expected row {number} of {sink}"
        for name in row:
            if name not in columns:
                near_names = get_close_matches(name, columns, n=1)
                raise HarnessError(
                    "MS-TEST-COLUMNS",
                    f"{where} has a column {name!r}, which {sink} does not have.",
                    fix=f"Did you mean {near_names[0]!r}?"
                    if near_names
                    else f"{sink} has {', '.join(columns)}.",
                )
        absent = [name for name in columns if name not in row]
        if absent:
            raise HarnessError(
                "MS-TEST-COLUMNS",
                f"{where} lacks {', '.join(absent)}.",
                fix="Write all columns of expected rows; write NULL as null.",
            )
