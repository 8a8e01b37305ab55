"""The states a kernel is given, as the in-memory ones show them."""

from __future__ import annotations

from millstream.kernels.core.kernel import ListState, MapState, ReducingState, State, ValueState
from millstream.kernels.state.memory_state import MemoryState


def test_a_value_is_what_was_put_last() -> None:
    value: ValueState = MemoryState().value("v")
    assert value.get() is None
    value.put(b"1")
    value.put(b"2")
    assert value.get() == b"2"
    value.clear()
    assert value.get() is None


def test_a_list_gives_all_in_order() -> None:
    items: ListState = MemoryState().list("l")
    items.append(b"1")
    items.append(b"2")
    assert items.get() == [b"1", b"2"]
    items.clear()
    assert items.get() == []


def test_a_map_forgets_what_is_removed() -> None:
    pages: MapState = MemoryState().map("m")
    pages.put(1, b"a")
    pages.put(2, b"b")
    pages.remove(1)
    pages.remove(3)
    assert (pages.get(1), pages.get(2)) == (None, b"b")


def test_a_reducing_state_folds_what_is_added() -> None:
    state: State = MemoryState()
    longest = ReducingState(state.value("r"), lambda held, added: max(held, added, key=len))
    assert longest.get() is None
    for text in (b"aa", b"bbb", b"c"):
        longest.add(text)
    assert longest.get() == b"bbb"
    longest.clear()
    assert longest.get() is None


def test_stores_of_one_name_are_the_same_store() -> None:
    state = MemoryState()
    state.value("v").put(b"1")
    assert state.value("v").get() == b"1"


def test_a_copy_is_apart_and_calls_are_counted() -> None:
    state = MemoryState()
    state.value("v").put(b"123")
    state.map("m").put(7, b"45")
    state.list("l").append(b"6")
    copy = state.copy()
    copy.value("v").put(b"other")
    copy.map("m").remove(7)
    assert state.value("v").get() == b"123"
    assert state.calls == {"put": 3, "get": 1}
    assert copy.calls == {"put": 4, "remove": 1}
    assert state.stored_bytes == 6
