"""Batches, concurrent queries, retries, and keys whose lookup fails."""

from __future__ import annotations

import threading
import time

import pytest
from tests.connectors.lookup.tables import (
    Clock,
    Failing,
    MemoryStore,
    OnError,
    find_rows,
    keys_of,
    spec_of,
)

from millstream.connectors.lookup import batching
from millstream.connectors.lookup.failures import UnreachableError
from millstream.connectors.lookup.lookups import Lookups
from millstream.errors import RunError

ROWS = [{"id": number, "name": f"n{number}"} for number in range(50)]
FIX = (
    " Check the database. Increase 'lookup.retries' or 'lookup.timeout' to wait longer, or set"
    " 'lookup.on_error' to continue without these rows."
)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(batching, "FIRST_WAIT", 0.0)


def lookups_over(rows, **settings) -> tuple[Lookups, MemoryStore]:
    spec = spec_of(**settings)
    store = MemoryStore(spec, rows)
    return Lookups(spec, clock=Clock(), store=store), store


def test_keys_are_looked_up_in_batches():
    lookups, store = lookups_over(ROWS, batch=4)
    assert find_rows(lookups, *range(10)) == {n: [f"n{n}"] for n in range(10)}
    assert sorted(map(len, store.requests)) == [2, 4, 4]
    assert lookups.counts["queries"] == 3


def test_concurrent_queries_are_limited_by_the_capacity():
    lookups, store = lookups_over(ROWS, batch=1, capacity=3)
    meeting = threading.Barrier(3, timeout=10)
    running, most, lock = 0, 0, threading.Lock()

    def count(_: object) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        meeting.wait()  # passes only if three are here at once
        with lock:
            running -= 1

    store.fail = count
    assert len(find_rows(lookups, *range(12))) == 12
    assert most == 3


def test_a_failed_query_is_retried():
    lookups, store = lookups_over(ROWS, retries=3)
    store.fail = Failing(3)
    assert find_rows(lookups, 1) == {1: ["n1"]}
    assert (lookups.counts["queries"], lookups.counts["retries"]) == (4, 3)


def test_waits_grow_and_are_bounded(monkeypatch):
    monkeypatch.setattr(batching, "FIRST_WAIT", 0.1)
    waits: list[float] = []
    monkeypatch.setattr(batching, "sleep_using_event", lambda _: waits.append)
    lookups, store = lookups_over(ROWS, retries=10)
    store.fail = Failing(10)
    find_rows(lookups, 1)
    least = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5, 5]
    assert all(low <= wait <= low + 0.1 for low, wait in zip(least, waits, strict=True))


def test_on_error_fail_stops_the_job():
    lookups, store = lookups_over(ROWS, retries=2, on_error=OnError.FAIL)
    store.fail = Failing(3)
    with pytest.raises(RunError) as error:
        find_rows(lookups, 1)
    assert str(error.value) == (
        "MS-LOOKUP-FAILED: the lookup in table customers failed after 3 attempts: "
        "connection refused." + FIX
    )


def test_without_retries_there_is_one_attempt():
    lookups, store = lookups_over(ROWS, retries=0)
    store.fail = Failing(1)
    with pytest.raises(RunError, match=r"failed after 1 attempt: connection refused\."):
        find_rows(lookups, 1)


@pytest.mark.parametrize("on_error", [OnError.NULL, OnError.SIDE_OUTPUT])
def test_other_policies_return_the_keys_that_failed(on_error):
    lookups, store = lookups_over(ROWS, batch=2, capacity=1, retries=1, on_error=on_error)

    def fail(keys: list[tuple[int]]) -> None:
        if (3,) in keys:
            raise UnreachableError("no answer within 10s")

    store.fail = fail
    find_rows(lookups, 5)
    found = lookups.find(keys_of(lookups, 1, 5, 2, 3, 4, 99))
    reason = "the lookup in table customers failed after 2 attempts: no answer within 10s"
    assert sorted(found.rows.rows()) == [(0, "n1"), (1, "n5"), (2, "n2")]
    assert found.failed.rows() == [(3, reason), (4, reason)]
    assert (lookups.counts["failed"], lookups.counts["absent"]) == (2, 1)


def test_a_key_that_failed_is_looked_up_again():
    lookups, store = lookups_over(ROWS, retries=0, on_error=OnError.NULL)
    store.fail = Failing(1)
    assert find_rows(lookups, 1, 99) == {}
    assert find_rows(lookups, 1, 99) == {1: ["n1"], 99: []}


def test_an_expired_entry_does_not_replace_a_failed_lookup():
    clock = Clock()
    spec = spec_of(retries=0, on_error=OnError.NULL)
    store = MemoryStore(spec, ROWS)
    lookups = Lookups(spec, clock=clock, store=store)
    find_rows(lookups, 1)
    clock.now += 60
    store.fail = Failing(1)
    assert find_rows(lookups, 1) == {}
    assert find_rows(lookups, 1) == {1: ["n1"]}


def test_after_a_batch_has_failed_others_are_tried_once():
    lookups, store = lookups_over(ROWS, batch=1, capacity=1, retries=5, on_error=OnError.NULL)
    store.fail = Failing(1_000)
    assert find_rows(lookups, *range(10)) == {}
    assert len(store.requests) == 6 + 9


def test_a_failure_ends_the_waits_of_others(monkeypatch):
    monkeypatch.setattr(batching, "FIRST_WAIT", 60.0)
    monkeypatch.setattr(batching, "LONGEST_WAIT", 60.0)
    lookups, store = lookups_over(ROWS, batch=1, capacity=2)
    waiting = threading.Event()

    def fail(keys: list[tuple[int]]) -> None:
        if keys == [(0,)]:
            waiting.set()
            raise UnreachableError("the first one waits")
        waiting.wait(10)
        raise RunError("MS-LOOKUP-TYPE", "the second one cannot get better.")

    store.fail = fail
    began = time.monotonic()
    with pytest.raises(RunError, match="MS-LOOKUP-TYPE: the second one cannot get better"):
        find_rows(lookups, 0, 1)
    assert time.monotonic() - began < 10


def test_what_cannot_get_better_is_not_tried_again():
    lookups, store = lookups_over(ROWS, on_error=OnError.NULL)

    def fail(_: object) -> None:
        raise RunError("MS-LOOKUP-TABLE", "no such table.")

    store.fail = fail
    with pytest.raises(RunError, match="MS-LOOKUP-TABLE"):
        find_rows(lookups, 1)
    assert len(store.requests) == 1
