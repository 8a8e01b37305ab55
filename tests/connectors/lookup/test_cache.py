"""What a worker remembers: rows, absences, for how long and how many."""

from __future__ import annotations

import polars as pl
import pytest
from tests.connectors.lookup.tables import Clock, MemoryStore, find_rows, keys_of, spec_of

from millstream.connectors.lookup.entries import NUMBER, REASON
from millstream.connectors.lookup.lookups import Lookups
from millstream.temporal import MICROS

ROWS = [{"id": number, "region": "eu", "name": f"n{number}", "age": number} for number in range(50)]


def lookups_over(rows, *, clock=None, **settings) -> tuple[Lookups, MemoryStore]:
    spec = spec_of(**settings)
    store = MemoryStore(spec, rows)
    return Lookups(spec, clock=clock or Clock(), store=store), store


def test_a_key_is_looked_up_once():
    lookups, store = lookups_over(ROWS)
    assert find_rows(lookups, 1, 2) == {1: ["n1"], 2: ["n2"]}
    assert find_rows(lookups, 2, 3) == {2: ["n2"], 3: ["n3"]}
    assert store.requests == [[(1,), (2,)], [(3,)]]
    assert lookups.counts == {
        "requested": 4,
        "hits": 1,
        "negative_hits": 0,
        "misses": 3,
        "found": 3,
        "absent": 0,
        "failed": 0,
        "expired": 0,
        "evicted": 0,
        "queries": 2,
        "retries": 0,
    }


def test_that_a_key_is_absent_is_remembered():
    lookups, store = lookups_over(ROWS)
    assert find_rows(lookups, 99) == {99: []}
    store.rows.append({"id": 99, "name": "late"})
    assert find_rows(lookups, 99) == {99: []}
    assert store.requests == [[(99,)]]
    counts = lookups.counts
    assert (counts["negative_hits"], counts["absent"], counts["hits"]) == (1, 1, 0)


def test_the_frame_has_the_number_of_the_key_and_the_columns():
    lookups, _ = lookups_over(ROWS, columns=("age", "id", "name"))
    for _ in range(2):
        found = lookups.find(keys_of(lookups, 77, 4))
        assert found.rows.schema == {
            NUMBER: pl.UInt32,
            "age": pl.Int32,
            "id": pl.Int64,
            "name": pl.String,
        }
        assert found.rows.rows() == [(1, 4, 4, "n4")]
        assert found.failed.schema == {NUMBER: pl.UInt32, REASON: pl.String}
        assert found.failed.rows() == []


def test_several_rows_of_a_key_come_from_memory_too():
    rows = [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}, {"id": 2, "name": None}]
    lookups, _ = lookups_over(rows)
    for _ in range(2):
        assert find_rows(lookups, 2, 1, 3) == {2: [None], 1: ["a", "b"], 3: []}
    assert lookups.counts["queries"] == 1


def test_composite_keys_are_distinguished():
    rows = [{"id": n, "region": r, "name": f"{r}{n}"} for n in range(3) for r in ("eu", "us")]
    lookups, _ = lookups_over(rows, keys=("region", "id"))
    for _ in range(2):
        found = find_rows(lookups, ("eu", 1), ("us", 1), ("us", 9))
        assert found == {("eu", 1): ["eu1"], ("us", 1): ["us1"], ("us", 9): []}


def test_without_columns_rows_tell_only_that_a_key_is_there():
    lookups, _ = lookups_over(ROWS, columns=())
    for _ in range(2):
        assert sorted(lookups.find(keys_of(lookups, 3, 99, 4)).rows.rows()) == [(0,), (2,)]


def test_without_keys_there_is_no_query():
    lookups, store = lookups_over(ROWS)
    assert lookups.find(keys_of(lookups)).rows.is_empty()
    assert store.requests == []


def test_keys_of_a_narrower_type_are_taken():
    lookups, _ = lookups_over(ROWS)
    found = lookups.find(pl.DataFrame({"id": [5]}, schema={"id": pl.Int16}))
    assert found.rows.rows() == [(0, "n5")]


@pytest.mark.parametrize("key", [1, 99])
def test_a_cached_result_is_used_for_its_time_to_live(key):
    clock = Clock()
    lookups, store = lookups_over(ROWS, clock=clock, cache_ttl=10 * MICROS["s"])
    find_rows(lookups, key)
    clock.now += 9.999
    find_rows(lookups, key)
    assert len(store.requests) == 1
    clock.now += 0.001
    store.rows = [{"id": key, "name": "new"}]
    assert find_rows(lookups, key) == {key: ["new"]}
    assert lookups.counts["expired"] == 1
    clock.now += 9
    assert find_rows(lookups, key) == {key: ["new"]}
    assert len(store.requests) == 2


def test_the_time_to_live_begins_with_the_request():
    clock = Clock()
    lookups, store = lookups_over(ROWS, clock=clock, cache_ttl=10 * MICROS["s"])

    def slow(_: object) -> None:
        clock.now += 6

    store.fail = slow
    find_rows(lookups, 1)
    clock.now += 4
    find_rows(lookups, 1)
    assert len(store.requests) == 2


@pytest.mark.parametrize("settings", [{"cache_rows": 0}, {"cache_ttl": 0}])
def test_without_a_cache_every_call_queries_the_database(settings):
    lookups, store = lookups_over(ROWS, **settings)
    for _ in range(3):
        assert find_rows(lookups, 1, 99) == {1: ["n1"], 99: []}
    assert len(store.requests) == 3
    assert lookups._cache.weight == 0


@pytest.mark.parametrize("limit", [1, 2, 7, 16, 40])
def test_the_limit_is_strict(limit):
    lookups, _ = lookups_over(ROWS, cache_rows=limit)
    for start in range(0, 60, 3):
        find_rows(lookups, *range(start, start + 5))
        assert lookups._cache.weight <= limit


def test_a_call_with_more_keys_than_the_cache_limit_returns_all_rows():
    lookups, _ = lookups_over(ROWS, cache_rows=8)
    assert find_rows(lookups, *range(60)) == {n: [f"n{n}"] if n < 50 else [] for n in range(60)}
    assert lookups._cache.weight == 8


def test_the_least_recently_used_make_room():
    lookups, store = lookups_over(ROWS, cache_rows=4)
    for key in (1, 2, 3, 4, 1, 5):
        find_rows(lookups, key)
    assert lookups.counts["evicted"] == 1
    store.requests.clear()
    find_rows(lookups, 1, 3, 4, 5)
    assert store.requests == []
    find_rows(lookups, 2)
    assert store.requests == [[(2,)]]


def test_an_eighth_makes_room_at_once():
    lookups, _ = lookups_over(ROWS, cache_rows=40)
    find_rows(lookups, *range(40))
    find_rows(lookups, 40)
    assert lookups.counts["evicted"] == 5
    assert lookups._cache.weight == 36


def test_what_has_expired_makes_room_first():
    clock = Clock()
    lookups, store = lookups_over(ROWS, clock=clock, cache_rows=4, cache_ttl=10 * MICROS["s"])
    find_rows(lookups, 1, 2)
    clock.now += 6
    find_rows(lookups, 3, 4)
    clock.now += 1
    find_rows(lookups, 1)  # used later than 3 and 4, but asked earlier
    clock.now += 4
    find_rows(lookups, 5)
    assert lookups.counts["evicted"] == 0
    store.requests.clear()
    find_rows(lookups, 3, 4, 5)
    assert store.requests == []


def test_rows_count_against_the_limit():
    rows = [{"id": 1, "name": str(n)} for n in range(9)] + ROWS[2:]
    lookups, store = lookups_over(rows, cache_rows=8)
    assert len(find_rows(lookups, 1, 2)[1]) == 9
    assert lookups._cache.weight == 1
    store.requests.clear()
    find_rows(lookups, 1, 2)
    assert store.requests == [[(1,)]]


def test_keys_with_equal_hashes_have_correct_results(monkeypatch):
    def same(keys: pl.DataFrame):
        return pl.zeros(keys.height, dtype=pl.UInt64, eager=True).to_numpy()

    monkeypatch.setattr("millstream.connectors.lookup.cache.hash_keys", same)
    monkeypatch.setattr("millstream.connectors.lookup.entries.hash_keys", same)
    lookups, _ = lookups_over(ROWS)
    for keys in ((1, 2), (2, 3), (1, 2, 3, 99), (99, 1)):
        assert find_rows(lookups, *keys) == {n: [f"n{n}"] if n < 50 else [] for n in keys}
