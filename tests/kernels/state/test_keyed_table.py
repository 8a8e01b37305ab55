"""Keyed tables against a plain list of rows, and their cost."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies

from millstream.errors import StateError
from millstream.kernels.core.hashing import fill_null_hashes
from millstream.kernels.core.kernel import Kernel, WatermarkAdvance
from millstream.kernels.core.specs import (
    CallSpec,
    DeduplicateSpec,
    OrderSpec,
    OverAggregateSpec,
    TopNSpec,
)
from millstream.kernels.deduplicate import Deduplicate
from millstream.kernels.over_aggregate.kernel import OverAggregate
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Table, Tables, TableSpec
from millstream.kernels.state.memory_state import MemoryState
from millstream.kernels.top_n.kernel import TopN
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, OnLimit, StateLimit

Key = tuple[str | None, int | None]
TableOracle = tuple[Key, int, int]  # key, time, id
SCHEMA = {"k1": pl.String, "k2": pl.Int64, "id": pl.Int64, "_t": pl.Int64, "_h": pl.Int64}
KEYED = TableSpec(("k1", "k2"))


def frame_of(rows: Sequence[TableOracle], collide: bool = False) -> pl.DataFrame:
    hashes = [0 if collide else hash(key) % 1000 for key, _, _ in rows]
    columns = [(*key, id_, time, h) for (key, time, id_), h in zip(rows, hashes, strict=True)]
    return pl.DataFrame(columns, schema=SCHEMA, orient="row")


def stored_of(frame: pl.DataFrame | None) -> Counter[TableOracle]:
    if frame is None:
        return Counter()
    return Counter(((k1, k2), t, i) for k1, k2, i, t, _ in frame.select(*SCHEMA).rows())


@dataclass
class Oracle:
    rows: list[TableOracle] = field(default_factory=list)

    def probe(
        self, new: Sequence[TableOracle], lower: int | None, upper: int | None
    ) -> Counter[tuple[int, TableOracle]]:
        low = BEGIN_OF_TIME if lower is None else lower
        high = END_OF_TIME if upper is None else upper
        return Counter(
            (number, row)
            for number, (key, time, _) in enumerate(new)
            for row in self.rows
            if row[0] == key and low <= row[1] - time <= high
        )

    def take(self, gone: Counter[TableOracle]) -> None:
        self.rows = list((Counter(self.rows) - gone).elements())

    def due(self, time: int) -> Counter[TableOracle]:
        due = Counter(row for row in self.rows if row[1] < time)
        self.take(due)
        return due


BOUND = st.one_of(st.none(), st.integers(-20, 20))
NEW = st.lists(st.tuples(strategies.keys, st.integers(-10, 50)), max_size=10)
STEP = st.tuples(NEW, BOUND, BOUND, st.sampled_from(["remove", "some", "keep"]), BOUND)
TROUBLE = st.one_of(st.none(), st.randoms(use_true_random=False))


@given(st.lists(STEP, max_size=7), strategies.log_settings, TROUBLE, st.booleans())
def test_a_table_has_the_same_rows_as_a_list(
    steps: list[
        tuple[list[tuple[Key, int]], int | None, int | None, str, int | None]
    ],
    settings: LogSettings, trouble: random.Random | None, collide: bool,
) -> None:  # fmt: skip
    state, oracle, number = MemoryState(), Oracle(), 0

    def open_table(at: MemoryState) -> tuple[Tables, Table]:
        tables = Tables(at, (TableSpec(()), KEYED), settings=settings)
        return tables, tables[1]

    for keyed, lower, upper, action, time in steps:
        new = [(key, at, number + i) for i, (key, at) in enumerate(keyed)]
        number += len(new)
        frame = frame_of(new, collide)
        if trouble and trouble.random() < 0.3:  # a first try, whose writes are not retained
            tables, table = open_table(state.copy())
            table.remove(table.probe(frame))
            table.append(frame)
            tables.close(0)
        if trouble and trouble.random() < 0.3:
            cache.clear_cache()

        tables, table = open_table(state)
        found = table.probe(frame, lower, upper)
        assert len(found) == found.new.size
        pairs = Counter[tuple[int, TableOracle]]()
        if len(found):
            stored = found.rows(["id", "_t", "k1", "k2"]).rows()
            pairs.update(
                (int(n), ((k1, k2), t, i))
                for n, (i, t, k1, k2) in zip(found.new, stored, strict=True)
            )
        assert pairs == oracle.probe(new, lower, upper)
        if action == "some":
            found = found.filter(found.new % 2 == 0)
        if action != "keep":
            gone = {row for n, row in pairs if action == "remove" or n % 2 == 0}
            assert table.remove(found) == len(gone)
            oracle.take(Counter(gone))
        table.append(frame, BEGIN_OF_TIME if time is None else time)
        oracle.rows += new
        if time is not None:
            assert stored_of(table.take_before(time)) == oracle.due(time)
        assert table.row_count == len(oracle.rows)
        assert table.earliest <= min([END_OF_TIME, *(row[1] for row in oracle.rows)])
        tables.close(0)
        assert tables.counts["state_rows"] == len(oracle.rows)
        for segment in table.segments:
            assert segment.removed <= segment.live_rows

    tables, table = open_table(state)
    assert stored_of(table.take_before(END_OF_TIME)) == Counter(oracle.rows)
    tables.close(0)
    assert not state.map("segments").content


def test_two_tables_share_a_state() -> None:
    state = MemoryState()
    row: TableOracle = (("a", 1), 5, 0)
    for _ in range(3):
        tables = Tables(state, (KEYED, TableSpec(("k2",))))
        tables[0].append(frame_of([row]))
        tables[1].append(frame_of([row, row]).drop("k1"))
        tables.close(0)
    tables = Tables(state, (KEYED, TableSpec(("k2",))))
    assert (tables[0].row_count, tables[1].row_count) == (3, 6)
    assert tables[0].expire(6) == 3
    found = tables[1].probe(frame_of([row]))
    assert found.rows().columns == ["k2", "id", "_t", "_h"]
    assert tables[1].remove(found) == 6
    tables.close(0)
    assert not state.map("segments").content


def test_an_integer_key_that_is_its_hash_may_be_null() -> None:
    frame = fill_null_hashes(
        pl.DataFrame(
            {"k": [0, None, 7], "_t": [1, 2, 3], "_h": [0, None, 7]},
            schema_overrides={"k": pl.Int32},
        )
    )
    stand_in = int(frame["_h"][1])
    state = MemoryState()
    tables = Tables(state, (TableSpec(("k",), hash_is_key=True),))
    tables[0].append(frame)
    tables.close(0)
    cache.clear_cache()
    tables = Tables(state, (TableSpec(("k",), hash_is_key=True),))
    new = pl.DataFrame({"k": [None, 7, 1, stand_in], "_t": 0, "_h": [stand_in, 7, 1, stand_in]})
    found = tables[0].probe(new)
    assert dict(zip(found.new.tolist(), found.rows()["k"], strict=True)) == {0: None, 1: 7}


def numbered(ids: range, time: int) -> pl.DataFrame:
    numbers = np.arange(ids.start, ids.stop, dtype=np.int64)
    frame = pl.DataFrame({"k": numbers, "value": numbers})
    return frame.with_columns(pl.lit(time, pl.Int64).alias("_t"), pl.Series("_h", numbers))


@pytest.mark.parametrize("small_rows", [1, 2048])
def test_rows_updated_over_and_over_leave_no_more_waste_than_rows(small_rows: int) -> None:
    state, settings = MemoryState(), LogSettings(small_rows=small_rows)
    generator = random.Random(1)
    sizes, segments = [], []
    for number in range(400):
        tables = Tables(state, (TableSpec(("k",)),), settings=settings)
        start = generator.randrange(0, 2000)
        frame = numbered(range(start, start + generator.randrange(1, 200)), number)
        tables[0].remove(tables[0].probe(frame))
        tables[0].append(frame)
        tables.close(number)
        sizes.append(state.stored_bytes)
        segments.append(tables.counts["segments"])
        rows = sum(segment.rows for segment in tables[0].segments)
        assert rows <= 2 * tables[0].row_count
    assert tables[0].row_count <= 2200
    assert max(sizes) < 2 * 2200 * (8 * 4 + 1) + 40_000
    assert max(segments) <= 20
    assert max(segments[200:]) <= max(segments[:200]) + 2


def test_a_lookup_in_time_bounds_reads_only_segments_that_reach_them() -> None:
    state, settings = MemoryState(), LogSettings(small_rows=1, fan_in=100)
    for time in range(5):
        tables = Tables(state, (TableSpec(("k",)),), settings=settings)
        tables[0].append(numbered(range(100), 100 * time))
        tables.close(0)
    cache.clear_cache()
    state.calls.clear()
    tables = Tables(state, (TableSpec(("k",)),), settings=settings)
    assert state.calls == {"get": 1}
    assert len(tables[0].probe(numbered(range(10), 300), 0, 0)) == 10
    assert state.calls == {"get": 2}
    assert tables[0].earliest == 0
    assert state.calls == {"get": 2}


def test_limits_evict_the_oldest_rows_or_stop_the_job() -> None:
    tables = Tables(MemoryState(), (TableSpec(("k",)),))
    tables[0].append(numbered(range(3), 7))
    tables[0].append(numbered(range(3, 6), 5))
    with pytest.raises(StateError, match="one key group of the aggregate has 6 rows; its limit is"):
        tables.evict(StateLimit(4), "aggregate")
    evicted = tables.evict(StateLimit(4, on_limit=OnLimit.EVICT), "aggregate")
    assert evicted[0]["k"].to_list() == [3, 4]
    assert tables[0].row_count == 4


def test_rows_without_keys_have_one_hash() -> None:
    frame = fill_null_hashes(pl.DataFrame({"x": [1, 2]}))
    assert frame["_h"].n_unique() == 1
    assert frame["_h"].null_count() == 0


def test_kernels_on_tables_can_be_pickled() -> None:
    order = (OrderSpec("x"),)
    kernels: list[Kernel] = [
        Deduplicate(DeduplicateSpec(("k",), ("x",), None)),
        TopN(TopNSpec(("k",), order, ("x",), 3)),
        OverAggregate(
            OverAggregateSpec(("k",), ("x",), 3, (CallSpec("sum", "s", "x"),)), {"s": pl.Int64}
        ),
        OverAggregate(
            OverAggregateSpec((), ("x",), None, (CallSpec("count", "n"),)), {"n": pl.Int64}
        ),
    ]
    frame = pl.DataFrame({"k": [1, 1], "x": [1, 2], "_t": [1, 2], "_h": [1, 1]})
    for kernel in kernels:
        twin: Kernel = pickle.loads(pickle.dumps(kernel))
        end = WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)
        one, two = (each.step(MemoryState(), {0: frame}, end) for each in (kernel, twin))
        assert one.main[0].equals(two.main[0])


def test_flags_that_become_a_bitmap_are_read_first_if_they_are_not_in_memory() -> None:
    state, settings = MemoryState(), LogSettings(small_rows=1, fan_in=100, recent_bytes=100)

    def remove(ids: range) -> None:
        cache.clear_cache()
        tables = Tables(state, (TableSpec(("k",)),), settings=settings)
        tables[0].remove(tables[0].probe(numbered(ids, time_of(ids)), 0, 0))
        tables.close(0)

    def time_of(ids: range) -> int:
        return 100 * (ids.start // 1000)

    for start in (0, 1000):
        tables = Tables(state, (TableSpec(("k",)),), settings=settings)
        tables[0].append(numbered(range(start, start + 1000), time_of(range(start, start + 1))))
        tables.close(0)
    remove(range(20))  # 80 bytes of marks: they stay row numbers
    remove(range(1000, 1010))  # 40 more: those of the first segment become its bitmap, unread
    cache.clear_cache()
    tables = Tables(state, (TableSpec(("k",)),), settings=settings)
    left = tables[0].take_before(END_OF_TIME)
    assert left is not None
    assert sorted(left["k"]) == [*range(20, 1000), *range(1010, 2000)]
