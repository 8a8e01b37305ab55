"""Records of changelogs, and the rows that they become."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.connectors.file.values import Column
from millstream.connectors.kafka.changes import OPS, ChangeRows

ZONED = pa.timestamp("us", "UTC")
COLUMNS = (Column("id", pa.string(), "STRING"), Column("n", pa.int64(), "BIGINT"))


@dataclass(frozen=True, slots=True)
class Message:
    """A record as the decoders use it."""

    of_value: bytes | None
    of_key: bytes | None = None

    def value(self) -> bytes | None:
        return self.of_value

    def key(self) -> bytes | None:
        return self.of_key

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_768_471_200_000

    def topic(self) -> str:
        return "changes"

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return 40


def text(value: Any) -> Message:
    return Message(None if value is None else json.dumps(value).encode())


def shown(found: ChangeRows) -> list[tuple[object, ...]]:
    """Kind, record and values of each row; the flaw of one that has one."""
    rows = list(zip(*(array.to_pylist() for array in found.columns), strict=True))
    return [
        (OPS[op], int(record), found.flaws[row].message if row in found.flaws else rows[row])
        for row, (op, record) in enumerate(zip(found.ops, found.records, strict=True))
    ]
