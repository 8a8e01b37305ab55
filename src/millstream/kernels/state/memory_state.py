"""State in memory, for tests: it counts calls, and can be copied to act out a retried batch."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Self


class MemoryValue:
    def __init__(self, calls: Counter[str]) -> None:
        self._calls = calls
        self.held: bytes | None = None

    def get(self) -> bytes | None:
        self._calls["get"] += 1
        return self.held

    def put(self, value: bytes) -> None:
        self._calls["put"] += 1
        self.held = value

    def clear(self) -> None:
        self._calls["remove"] += 1
        self.held = None


class MemoryList:
    def __init__(self, calls: Counter[str]) -> None:
        self._calls = calls
        self.held: list[bytes] = []

    def append(self, value: bytes) -> None:
        self._calls["put"] += 1
        self.held.append(value)

    def get(self) -> list[bytes]:
        self._calls["get"] += 1
        return list(self.held)

    def clear(self) -> None:
        self._calls["remove"] += 1
        self.held = []


class MemoryMap:
    def __init__(self, calls: Counter[str]) -> None:
        self._calls = calls
        self.held: dict[int, bytes] = {}

    def get(self, key: int) -> bytes | None:
        self._calls["get"] += 1
        return self.held.get(key)

    def put(self, key: int, value: bytes) -> None:
        self._calls["put"] += 1
        self.held[key] = value

    def remove(self, key: int) -> None:
        self._calls["remove"] += 1
        self.held.pop(key, None)


class MemoryState:
    """The stores of one key group. `calls` counts get, put and remove over all of them."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.values: dict[str, MemoryValue] = {}
        self.lists: dict[str, MemoryList] = {}
        self.maps: dict[str, MemoryMap] = {}

    def value(self, name: str) -> MemoryValue:
        return self.values.setdefault(name, MemoryValue(self.calls))

    def list(self, name: str) -> MemoryList:
        return self.lists.setdefault(name, MemoryList(self.calls))

    def map(self, name: str) -> MemoryMap:
        return self.maps.setdefault(name, MemoryMap(self.calls))

    def copy(self) -> Self:
        """The same content, apart from this one: what a store goes back to when a batch fails."""
        return copy.deepcopy(self)

    @property
    def stored_bytes(self) -> int:
        values = sum(len(v.held or b"") for v in self.values.values())
        lists = sum(len(item) for held in self.lists.values() for item in held.held)
        maps = sum(len(item) for held in self.maps.values() for item in held.held.values())
        return values + lists + maps
