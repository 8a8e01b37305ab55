"""The in-memory stores behave as the state protocols require."""

from __future__ import annotations

from millstream.kernels.core.kernel import MapState, ValueState
from millstream.kernels.state.memory_state import MemoryState


def test_a_value_state_returns_the_last_value() -> None:
    value: ValueState = MemoryState().value("v")
    assert value.get() is None
    value.put(b"1")
    value.put(b"2")
    assert value.get() == b"2"
    value.clear()
    assert value.get() is None


def test_a_map_state_drops_removed_keys() -> None:
    pages: MapState = MemoryState().map("m")
    pages.put(1, b"a")
    pages.put(2, b"b")
    pages.remove(1)
    pages.remove(3)
    assert (pages.get(1), pages.get(2)) == (None, b"b")


def test_stores_with_the_same_name_are_the_same_store() -> None:
    state = MemoryState()
    state.value("v").put(b"1")
    assert state.value("v").get() == b"1"


def test_a_copy_is_independent_and_calls_are_counted() -> None:
    state = MemoryState()
    state.value("v").put(b"123")
    state.map("m").put(7, b"45")
    copy = state.copy()
    copy.value("v").put(b"other")
    copy.map("m").remove(7)
    assert state.value("v").get() == b"123"
    assert state.calls == {"put": 2, "get": 1}
    assert copy.calls == {"put": 3, "remove": 1}
    assert state.stored_bytes == 5
