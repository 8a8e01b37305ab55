"""A data file of a table as a work item."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file, and its values of the partition columns as texts."""

    path: str
    values: tuple[tuple[str, str | None], ...] = ()
    size: int = 0

    def encoded(self) -> str:
        return json.dumps([self.path, dict(self.values)], ensure_ascii=False)

    @classmethod
    def decoded(cls, text: str) -> DataFile:
        path, values = json.loads(text)
        return cls(path, tuple(values.items()))
