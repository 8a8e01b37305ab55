"""Random streams of rows with a column of every type, and their micro-batches."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

Row = dict[str, Any]
EPOCH = datetime(2026, 1, 15, tzinfo=UTC)
DELAY = 6  # seconds that a row may be behind the latest of its stream
SPAN = 60  # seconds between the first and last row of a stream

# The type of a column in SQL, and what it is called here.
TYPES = {
    "int": "BIGINT",
    "double": "DOUBLE",
    "decimal": "DECIMAL(10, 2)",
    "string": "STRING",
    "bool": "BOOLEAN",
    "date": "DATE",
    "time": "TIMESTAMP",
    "binary": "BINARY",
}
COLUMNS: Mapping[str, str] = {
    "id": "int",
    "ki": "int",
    "kd": "double",
    "kn": "decimal",
    "ks": "string",
    "kb": "bool",
    "kt": "date",
    "kw": "time",
    "kx": "binary",
    "x": "int",
    "y": "double",
    "t": "time",
}
_VALUES: Mapping[str, Sequence[Any]] = {
    "ki": (0, 1, -2, 7),
    "kd": (0.0, -0.0, float("nan"), 1.5, float("inf")),
    "kn": (Decimal("1.10"), Decimal("-2.35"), Decimal("99999999.99"), Decimal("0.00")),
    "ks": ("a", "b", "é", "", "A"),
    "kb": (True, False),
    "kt": (date(2026, 1, 15), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31)),
    "kw": (EPOCH, EPOCH + timedelta(microseconds=1), datetime(1969, 12, 31, tzinfo=UTC)),
    "kx": (b"", b"\x00", b"\xff\x00", b"a"),
    "x": tuple(range(-3, 9)),
    "y": (0.25, -0.5, 8.0, 0.0),
}


DDL = ", ".join(f"{name} {TYPES[type_]}" for name, type_ in COLUMNS.items())


def declared(name: str) -> str:
    return (
        f"CREATE SOURCE {name} ({DDL}, WATERMARK FOR t AS t - INTERVAL {DELAY} SECONDS) "
        "WITH ('connector' = 'memory');\n"
    )


def table_declared(name: str) -> str:
    where = f"'connector' = 'file', 'path' = '{name}.csv', 'format' = 'csv'"
    return f"CREATE TABLE {name} ({DDL}) WITH ({where});\n"


@dataclass(frozen=True, slots=True)
class Data:
    """The rows of each stream, by micro-batch. All streams have equally many."""

    batches: Mapping[str, list[list[Row]]]

    def rows(self, stream: str) -> list[Row]:
        return [row for batch in self.batches[stream] for row in batch]

    @property
    def count(self) -> int:
        return max((len(batches) for batches in self.batches.values()), default=0)


def random_data(
    rng: random.Random, names: Sequence[str], *, late: bool = False, ties: bool = False
) -> Data:
    """With `late`, some rows are further behind than the watermark's delay; with `ties`, some have
    the same time."""
    count = rng.choice((1, 2, 2, 3, 3, 4))
    return Data({name: _cut(rng, _rows(rng, late=late, ties=ties), count) for name in names})


def _rows(rng: random.Random, *, late: bool, ties: bool) -> list[Row]:
    """In the order of arrival."""
    spread = rng.choice((1, 1, 2))  # values of a key; with few, more rows match
    count = rng.choice((0, 8, 20, 20, 30, 30, 45, 45))
    every = range(SPAN * 4)
    times = rng.choices(every, k=count) if ties else rng.sample(every, count)
    rows = []
    for number, quarter in enumerate(times):
        row: Row = {"id": number}
        for name, values in _VALUES.items():
            some = values if spread == 1 else values[:2]
            row[name] = None if rng.random() < 0.15 else rng.choice(some)
        row["t"] = EPOCH + timedelta(milliseconds=quarter * 250)
        rows.append(row)
    behind = DELAY * (6 if late else 1)
    return sorted(rows, key=lambda row: row["t"] + timedelta(seconds=rng.random() * behind))


def _cut(rng: random.Random, rows: list[Row], count: int) -> list[list[Row]]:
    ends = sorted(rng.randint(0, len(rows)) for _ in range(count - 1))
    return [rows[a:b] for a, b in zip([0, *ends], [*ends, len(rows)], strict=True)]
