"""Spark's state stores behind the interfaces that kernels know."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


class SparkState:
    """The stores of one operator, of the key group that Spark has made current."""

    def __init__(
        self, handle: StatefulProcessorHandle, stores: tuple[tuple[str, str], ...], prefix: str = ""
    ) -> None:
        opened = {"value": _Value, "list": _List, "map": _Map}
        self._stores: dict[str, Any] = {
            name: opened[kind](handle, f"{prefix}{name}") for name, kind in stores
        }

    def value(self, name: str) -> _Value:
        return self._stores[name]  # type: ignore[no-any-return]

    def list(self, name: str) -> _List:
        return self._stores[name]  # type: ignore[no-any-return]

    def map(self, name: str) -> _Map:
        return self._stores[name]  # type: ignore[no-any-return]


class _Value:
    def __init__(self, handle: StatefulProcessorHandle, name: str) -> None:
        self._store = handle.getValueState(name, "v binary")

    def get(self) -> bytes | None:
        held = self._store.get()
        return None if held is None else bytes(held[0])

    def put(self, value: bytes) -> None:
        self._store.update((value,))

    def clear(self) -> None:
        self._store.clear()


class _List:
    def __init__(self, handle: StatefulProcessorHandle, name: str) -> None:
        self._store = handle.getListState(name, "v binary")

    def append(self, value: bytes) -> None:
        self._store.appendValue((value,))

    def get(self) -> list[bytes]:
        return [bytes(row[0]) for row in self._store.get()]

    def clear(self) -> None:
        self._store.clear()


class _Map:
    def __init__(self, handle: StatefulProcessorHandle, name: str) -> None:
        self._store = handle.getMapState(name, "k bigint", "v binary")

    def get(self, key: int) -> bytes | None:
        held = self._store.getValue((key,))
        return None if held is None else bytes(held[0])

    def put(self, key: int, value: bytes) -> None:
        self._store.updateValue((key,), (value,))

    def remove(self, key: int) -> None:
        self._store.removeKey((key,))
