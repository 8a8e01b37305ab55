"""Two states in the stores of one, for an operator with more tables than one manifest has room for.

One value holds both manifests, and pages have even and odd numbers: a step makes no more calls.
"""

from __future__ import annotations

import struct

from millstream.kernels.base import ListState, MapState, State, ValueState

_LENGTH = struct.Struct("<I")


def halves(state: State) -> tuple[State, State]:
    """Both are written in every step that writes one of them."""
    both = _Both(state.value("meta"))
    return _Half(state, both, 0), _Half(state, both, 1)


class _Both:
    """Two values in one."""

    def __init__(self, store: ValueState) -> None:
        self._store = store
        self._written: dict[int, bytes] = {}
        held = store.get()
        self.parts: list[bytes | None] = [None, None]
        if held is not None:
            (length,) = _LENGTH.unpack_from(held)
            cut = _LENGTH.size + length
            self.parts = [held[_LENGTH.size : cut], held[cut:]]

    def write(self, number: int, part: bytes) -> None:
        """With the second of them, both go out."""
        self._written[number] = part
        if len(self._written) == len(self.parts):
            one, two = self._written.pop(0), self._written.pop(1)
            self.parts = [one, two]
            self._store.put(_LENGTH.pack(len(one)) + one + two)


class _Half:
    def __init__(self, state: State, both: _Both, number: int) -> None:
        self._state, self._both, self._number = state, both, number

    def value(self, name: str) -> ValueState:
        assert name == "meta"
        return _HalfValue(self._both, self._number)

    def list(self, name: str) -> ListState:
        raise NotImplementedError(name)

    def map(self, name: str) -> MapState:
        return _HalfMap(self._state.map(name), self._number)


class _HalfValue:
    def __init__(self, both: _Both, number: int) -> None:
        self._both, self._number = both, number

    def get(self) -> bytes | None:
        return self._both.parts[self._number]

    def put(self, value: bytes) -> None:
        self._both.write(self._number, value)

    def clear(self) -> None:
        raise NotImplementedError


class _HalfMap:
    def __init__(self, pages: MapState, number: int) -> None:
        self._pages, self._number = pages, number

    def get(self, key: int) -> bytes | None:
        return self._pages.get(2 * key + self._number)

    def put(self, key: int, value: bytes) -> None:
        self._pages.put(2 * key + self._number, value)

    def remove(self, key: int) -> None:
        self._pages.remove(2 * key + self._number)
