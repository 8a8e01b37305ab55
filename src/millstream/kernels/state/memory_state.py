"""State in memory, for tests and benchmarks. Counts calls; copies simulate retried batches."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Self


class MemoryValue:
    def __init__(self, calls: Counter[str]) -> None:
        self._calls = calls
        self.content: bytes | None = None

    def get(self) -> bytes | None:
        self._calls["get"] += 1
        return self.content

    def put(self, value: bytes) -> None:
        self._calls["put"] += 1
        self.content = value

    def clear(self) -> None:
        self._calls["remove"] += 1
        self.content = None


class MemoryMap:
    def __init__(self, calls: Counter[str]) -> None:
        self._calls = calls
        self.content: dict[int, bytes] = {}

    def get(self, key: int) -> bytes | None:
        self._calls["get"] += 1
        return self.content.get(key)

    def put(self, key: int, value: bytes) -> None:
        self._calls["put"] += 1
        self.content[key] = value

    def remove(self, key: int) -> None:
        self._calls["remove"] += 1
        self.content.pop(key, None)


class MemoryState:
    """The stores of one key group. `calls` counts get, put and remove over all of them."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.values: dict[str, MemoryValue] = {}
        self.maps: dict[str, MemoryMap] = {}

    def value(self, name: str) -> MemoryValue:
        return self.values.setdefault(name, MemoryValue(self.calls))

    def map(self, name: str) -> MemoryMap:
        return self.maps.setdefault(name, MemoryMap(self.calls))

    def copy(self) -> Self:
        """Returns an independent copy: the content that a store returns to when a batch fails."""
        return copy.deepcopy(self)

    @property
    def stored_bytes(self) -> int:
        values = sum(len(v.content or b"") for v in self.values.values())
        maps = sum(len(item) for each in self.maps.values() for item in each.content.values())
        return values + maps
