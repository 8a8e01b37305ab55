"""Work items of a PostgreSQL source: what the driver logs and an executor reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum


class ItemKind(StrEnum):
    PAGES = "pages"  # pages of a table from `start` to before `end`; the last ones without an end
    RANGE = "range"  # rows whose column is after `start`, up to `end`
    INITIAL = "initial"  # the rows of a table before the changes of a slot
    CHANGES = "changes"  # transactions with commits from `start` to before `end`


@dataclass(frozen=True, slots=True)
class Item:
    """A work item.

    Attributes:
        start, end: Page numbers, values of a column, or positions in the write-ahead log.
        snapshot: The exported snapshot of all pages; for the initial rows, the transactions that
            precede the slot.
        lsn, time: The values of _offset and _timestamp of rows that are no changes.
    """

    kind: ItemKind
    start: str = ""
    end: str = ""
    slot: str = ""
    snapshot: str = ""
    lsn: int = 0
    time: int = 0

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: str) -> Item:
        given = json.loads(text)
        return cls(ItemKind(given.pop("kind")), **given)
