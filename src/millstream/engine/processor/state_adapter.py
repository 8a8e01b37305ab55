"""Implements the state interfaces of kernels on Spark's state store.

All state of a key group is one map state of Spark, whose keys begin with the name of a store. Spark
opens each state variable again in every micro-batch, by calls to another process that creates its
encoders again: three variables took as long as packing half a million rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState

# As types: a schema in text form would cost two calls to the other process to parse it.
_KEY = StructType([StructField("store", StringType()), StructField("key", LongType())])
_VALUE = StructType([StructField("v", BinaryType())])
# A historical name, which never changes. Old checkpoints, in which each store was a variable, have
# a value state of this name, so Spark rejects them; under another name it would return empty state.
_NAME = "clock"
_ONLY = 0  # the key of a store that holds one value


def open_state(handle: StatefulProcessorHandle) -> MapState:
    """Opens the map that holds all state of a key group."""
    return handle.getMapState(_NAME, _KEY, _VALUE)


class SparkState:
    """The stores of one operator, for the key group that Spark processes now."""

    def __init__(self, state: MapState, prefix: str = "") -> None:
        self._state = state
        self._prefix = prefix

    def value(self, name: str) -> _Value:
        return _Value(self.map(name))

    def list(self, name: str) -> _List:
        return _List(self.map(name))

    def map(self, name: str) -> _Map:
        return _Map(self._state, f"{self._prefix}{name}")


class _Map:
    def __init__(self, state: MapState, name: str) -> None:
        self._state = state
        self._name = name

    def get(self, key: int) -> bytes | None:
        found = self._state.getValue((self._name, key))
        return None if found is None else bytes(found[0])

    def put(self, key: int, value: bytes) -> None:
        self._state.updateValue((self._name, key), (value,))

    def remove(self, key: int) -> None:
        self._state.removeKey((self._name, key))


class _Value:
    def __init__(self, entries: _Map) -> None:
        self._entries = entries

    def get(self) -> bytes | None:
        return self._entries.get(_ONLY)

    def put(self, value: bytes) -> None:
        self._entries.put(_ONLY, value)

    def clear(self) -> None:
        self._entries.remove(_ONLY)


class _List:
    """Values under 1, 2, 3, …; under 0, how many there are."""

    def __init__(self, entries: _Map) -> None:
        self._entries = entries
        self._count = _Value(entries)

    def append(self, value: bytes) -> None:
        place = self._length() + 1
        self._entries.put(place, value)
        self._count.put(str(place).encode())

    def get(self) -> list[bytes]:
        found = (self._entries.get(place) for place in range(1, self._length() + 1))
        return [value for value in found if value is not None]

    def clear(self) -> None:
        for place in range(self._length() + 1):
            self._entries.remove(place)

    def _length(self) -> int:
        return int(self._count.get() or 0)
