"""Spark's state store behind the interfaces that kernels know.

All that a host keeps of a key group is one map of Spark's, whose keys begin with the name of a
store. Each variable of Spark's is opened anew in every micro-batch, by calls to another process
which makes its encoders anew: three of them took as long as packing half a million rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState

# As types, not as texts: Spark asks the other process to parse a text, twice.
_KEY = StructType([StructField("store", StringType()), StructField("key", LongType())])
_VALUE = StructType([StructField("v", BinaryType())])
# Checkpoints in which each store was a variable have a value of this name. So Spark refuses them;
# to an unknown name it would give an empty state.
_NAME = "clock"
_ONLY = 0  # the key of a store that holds one value


def opened(handle: StatefulProcessorHandle) -> MapState:
    return handle.getMapState(_NAME, _KEY, _VALUE)


class SparkState:
    """The stores of one operator, of the key group that Spark has made current."""

    def __init__(self, held: MapState, prefix: str = "") -> None:
        self._held = held
        self._prefix = prefix

    def value(self, name: str) -> _Value:
        return _Value(self.map(name))

    def list(self, name: str) -> _List:
        return _List(self.map(name))

    def map(self, name: str) -> _Map:
        return _Map(self._held, f"{self._prefix}{name}")


class _Map:
    def __init__(self, held: MapState, name: str) -> None:
        self._held = held
        self._name = name

    def get(self, key: int) -> bytes | None:
        found = self._held.getValue((self._name, key))
        return None if found is None else bytes(found[0])

    def put(self, key: int, value: bytes) -> None:
        self._held.updateValue((self._name, key), (value,))

    def remove(self, key: int) -> None:
        self._held.removeKey((self._name, key))


class _Value:
    def __init__(self, held: _Map) -> None:
        self._held = held

    def get(self) -> bytes | None:
        return self._held.get(_ONLY)

    def put(self, value: bytes) -> None:
        self._held.put(_ONLY, value)

    def clear(self) -> None:
        self._held.remove(_ONLY)


class _List:
    """Values under 1, 2, 3, …; under 0, how many there are."""

    def __init__(self, held: _Map) -> None:
        self._held = held
        self._count = _Value(held)

    def append(self, value: bytes) -> None:
        place = self._length() + 1
        self._held.put(place, value)
        self._count.put(str(place).encode())

    def get(self) -> list[bytes]:
        found = (self._held.get(place) for place in range(1, self._length() + 1))
        return [value for value in found if value is not None]

    def clear(self) -> None:
        for place in range(self._length() + 1):
            self._held.remove(place)

    def _length(self) -> int:
        return int(self._count.get() or 0)
