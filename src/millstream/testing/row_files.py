"""Reads row files of test cases: CSV with a header, or JSON lines."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from millstream.errors import HarnessError, Place
from millstream.sql.limits import MAX_ROW_FILE, read_text
from millstream.testing.case import Row

_JSON = (".json", ".jsonl", ".ndjson")


def is_text(file: str | None) -> bool:
    """Whether all values of the file are strings, so that types follow from a schema only."""
    return file is not None and Path(file).suffix.lower() == ".csv"


def read(path: Path, place: Place | None = None) -> list[Row]:
    """Reads all rows. An empty CSV value is NULL. `place` is the position of the file name."""
    if is_text(path.name):
        return _csv(path, text(path, place), place)
    if path.suffix.lower() in _JSON:
        return _json(path, text(path, place), place)
    raise HarnessError(
        "MS-TEST-FILE",
        f"{path} is not a row file.",
        fix="Use .csv with a header, or .jsonl with one object per line.",
        place=place,
    )


def text(path: Path, place: Place | None = None, limit: int = MAX_ROW_FILE) -> str:
    """Reads a file of at most `limit` bytes as text."""
    try:
        return read_text(path, limit)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise HarnessError("MS-TEST-FILE", f"cannot read {path}: {reason}.", place=place) from None


def _csv(path: Path, content: str, place: Place | None) -> list[Row]:
    reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise HarnessError("MS-TEST-FILE", f"{path} is not CSV: {error}.", place=place) from None
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise HarnessError(
                "MS-TEST-FILE",
                f"row {number} of {path} does not have as many values as the header.",
                place=place,
            )
    return [{name: cell or None for name, cell in row.items()} for row in rows]


def _json(path: Path, content: str, place: Place | None) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            reason = error.msg
        except ValueError:  # a number of thousands of digits
            reason = "a number is too long"
        except RecursionError:
            reason = "it is nested too deeply"
        else:
            if isinstance(row, dict):
                rows.append(row)
                continue
            reason = "not an object"
        raise HarnessError(
            "MS-TEST-FILE", f"line {number} of {path} is not a row: {reason}.", place=place
        )
    return rows
