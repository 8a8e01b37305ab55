"""Any sequence of calls, over a table that does not change, gives what a plain dict gives; over
one that does, an answer is one that was right within the time to live."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.lookup.tables import Clock, MemoryStore, find_rows, spec_of

from millstream.connectors.lookup.lookups import Lookups
from millstream.temporal import MICROS

KEYS = st.tuples(st.integers(0, 3), st.sampled_from(["", "a", "b"]))
CALL = st.tuples(st.sets(KEYS), st.integers(0, 6))
ROW = st.tuples(KEYS, st.one_of(st.none(), st.text(max_size=3)))


@given(
    table=st.lists(ROW, max_size=15),
    calls=st.lists(CALL, max_size=15),
    limit=st.integers(0, 12),
    ttl=st.integers(0, 12),
    batch=st.integers(1, 4),
)
def test_results_equal_those_of_a_dict(table, calls, limit, ttl, batch):
    spec = spec_of(
        keys=("id", "region"), cache_rows=limit, cache_ttl=ttl * MICROS["s"], batch=batch
    )
    rows = [{"id": key[0], "region": key[1], "name": name} for key, name in table]
    clock = Clock()
    lookups = Lookups(spec, clock=clock, store=MemoryStore(spec, rows))
    for keys, later in calls:
        clock.now += later
        oracle = {key: sorted((n for k, n in table if k == key), key=repr) for key in keys}
        assert find_rows(lookups, *keys) == oracle
        assert lookups._cache.weight <= limit
    counts = lookups.counts
    assert counts["requested"] == counts["hits"] + counts["negative_hits"] + counts["misses"]
    assert counts["misses"] == counts["found"] + counts["absent"]


@given(
    calls=st.lists(st.tuples(st.sets(st.integers(0, 5), min_size=1), st.integers(0, 4))),
    limit=st.integers(0, 6),
    ttl=st.integers(0, 8),
)
def test_a_cached_result_is_never_older_than_its_time_to_live(calls, limit, ttl):
    """The table's rows tell the time at which they were read."""
    spec = spec_of(columns=("age",), cache_rows=limit, cache_ttl=ttl * MICROS["s"])
    clock, store = Clock(), MemoryStore(spec)
    lookups = Lookups(spec, clock=clock, store=store)
    for keys, later in calls:
        clock.now += later
        store.rows = [{"id": key, "age": int(clock.now)} for key in range(6)]
        for (read_at,) in find_rows(lookups, *keys).values():
            assert read_at == clock.now or clock.now - read_at < ttl
