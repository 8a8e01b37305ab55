"""One manifest for any number of tables: what it stores, and what a step over them costs."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies

from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Tables, TableSpec
from millstream.kernels.state.manifest import Manifest, Ref, Segment
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import END_OF_TIME, OnLimit, StateLimit

MOST_TABLES = 6
REF = st.builds(Ref, st.integers(0, 9), st.integers(0, 99), st.integers(0, 99))
NUMBER = st.integers(-(1 << 62), 1 << 62)
SEGMENT = st.builds(
    Segment,
    uid=st.integers(1, 1 << 62),
    ref=REF,
    rows=st.integers(1, 99),
    first=NUMBER,
    last=NUMBER,
    size=st.integers(1, 99),
    skip=st.integers(0, 99),
    removed=st.integers(0, 99),
    flags_version=st.integers(0, 1 << 62),
    bitmap=st.none() | REF,
)
MANIFEST = st.builds(
    Manifest,
    tables=st.lists(st.lists(SEGMENT, max_size=3), min_size=1, max_size=MOST_TABLES),
    watermark=NUMBER,
    counts=st.dictionaries(st.text(max_size=3), st.integers(0, 99), max_size=3),
    recent=st.none() | st.tuples(st.integers(1, 1 << 62), REF),
)


@given(MANIFEST)
def test_a_manifest_is_read_as_it_was_written(manifest: Manifest) -> None:
    assert Manifest.load(manifest.dump(), len(manifest.tables)) == manifest
    segments = [segment for table in manifest.tables for segment in table]
    assert list(manifest.segments()) == segments
    assert {segment.uid for segment in segments} <= manifest.uids()
    assert {segment.ref.page for segment in segments if segment.ref} <= manifest.pages()


@pytest.mark.parametrize("tables", range(1, MOST_TABLES + 1))
def test_a_new_manifest_has_as_many_tables_as_the_operator(tables: int) -> None:
    manifest = Manifest.load(None, tables)
    assert manifest.tables == [[]] * tables
    assert json.loads(manifest.dump())["tables"] == [[]] * tables
    with pytest.raises(AssertionError, match=f"{tables} tables in state, {tables + 1} expected"):
        Manifest.load(manifest.dump(), tables + 1)


Stored = tuple[int, int, int]  # key, time, id


def keyed_of(number: int) -> TableSpec:
    """Tables of one operator differ in their layouts: a hash that is the key, rows that expire
    by time unmatched."""
    return TableSpec(("k",), hash_is_key=number % 2 == 0, removable=number % 3 != 1)


def frame_of(rows: list[Stored], table: int) -> pl.DataFrame:
    names = {"k": pl.Int64, "_t": pl.Int64, f"id{table}": pl.Int64}
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.with_columns(pl.col("k").alias("_h"))


def stored_in(frame: pl.DataFrame | None, table: int) -> Counter[Stored]:
    return Counter() if frame is None else Counter(frame.select("k", "_t", f"id{table}").rows())


@dataclass
class Oracle:
    """A list of rows per table."""

    tables: list[list[Stored]] = field(default_factory=list)

    def remove(self, table: int, gone: Counter[Stored]) -> None:
        self.tables[table] = list((Counter(self.tables[table]) - gone).elements())

    def rows_of_keys(self, table: int, keys: set[int]) -> Counter[Stored]:
        return Counter(row for row in self.tables[table] if row[0] in keys)

    def before(self, table: int, time: int) -> Counter[Stored]:
        return Counter(row for row in self.tables[table] if row[1] < time)

    @property
    def times(self) -> list[int]:
        return sorted(time for table in self.tables for _, time, _ in table)


ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=8)
CHANGE = st.tuples(
    ROWS,  # appended
    st.sets(st.integers(0, 5), max_size=3),  # keys whose rows are removed first
    st.none() | st.integers(0, 40),  # rows before this time expire
)


@st.composite
def scripts(draw: st.DrawFn) -> list[list[tuple[list[tuple[int, int]], set[int], int | None]]]:
    """Steps with a change for every table."""
    tables = draw(st.integers(1, MOST_TABLES))
    step = st.lists(CHANGE, min_size=tables, max_size=tables)
    return draw(st.lists(step, min_size=1, max_size=5))


@given(
    scripts(),
    strategies.log_settings,
    st.none() | st.randoms(use_true_random=False),
    st.none() | st.integers(0, 20),
)
def test_tables_of_one_manifest_have_the_same_rows_as_lists(
    steps: list[list[tuple[list[tuple[int, int]], set[int], int | None]]],
    settings: LogSettings, trouble: random.Random | None, most_rows: int | None,
) -> None:  # fmt: skip
    count = len(steps[0])
    state, oracle, ids = MemoryState(), Oracle([[] for _ in range(count)]), 0

    def open_tables(at: MemoryState) -> Tables:
        return Tables(at, [keyed_of(number) for number in range(count)], settings=settings)

    for step in steps:
        if trouble and trouble.random() < 0.3:  # a first try, whose writes are not retained
            tables = open_tables(state.copy())
            for number, (keyed, _, _) in enumerate(step):
                tables[number].append(frame_of([(*row, 0) for row in keyed], number))
                tables[number].expire(20)
            tables.close(0)
        if trouble and trouble.random() < 0.3:
            cache.clear_cache()
        tables = open_tables(state)
        for number, (keyed, keys, time) in enumerate(step):
            table = tables[number]
            if keyed_of(number).removable:
                found = table.probe(frame_of([(key, 0, 0) for key in sorted(keys)], number))
                gone = oracle.rows_of_keys(number, keys)
                assert (stored_in(found.rows(), number) if len(found) else Counter()) == gone
                assert table.remove(found) == gone.total()
                oracle.remove(number, gone)
            new = [(key, at, ids + place) for place, (key, at) in enumerate(keyed)]
            ids += len(new)
            table.append(frame_of(new, number))
            oracle.tables[number] += new
            if time is not None:
                gone = oracle.before(number, time)
                assert table.expire(time) == gone.total()
                oracle.remove(number, gone)
        if most_rows is not None:
            times = oracle.times
            evicted = tables.evict(StateLimit(most_rows, on_limit=OnLimit.EVICT), "test")
            for number, frame in evicted.items():
                oracle.remove(number, stored_in(frame, number))
            assert oracle.times == times[max(0, len(times) - most_rows) :]  # the oldest of all went
        tables.close(0)
        assert tables.counts["state_rows"] == len(oracle.times)
        assert [tables[number].row_count for number in range(count)] == list(
            map(len, oracle.tables)
        )

    tables = open_tables(state)
    for number in range(count):
        assert stored_in(tables[number].take_before(END_OF_TIME), number) == Counter(
            oracle.tables[number]
        )
    tables.close(0)
    assert not state.map("segments").content


def append_numbers(state: MemoryState, tables: int, start: int) -> int:
    """Adds ten rows to each table; returns the bytes that were written."""
    opened = Tables(state, [TableSpec(("k",))] * tables)
    ids = np.arange(start, start + 10)
    frame = pl.DataFrame({"k": ids, "_t": ids, "_h": ids})
    before = dict(state.map("segments").content)
    for number in range(tables):
        opened[number].remove(opened[number].probe(frame))
        opened[number].append(frame)
    opened.close(start)
    after = state.map("segments").content
    return sum(len(page) for number, page in after.items() if before.get(number) != page)


@pytest.mark.parametrize("tables", [1, 2, 4, MOST_TABLES])
def test_a_small_step_makes_as_many_calls_for_many_tables_as_for_one(tables: int) -> None:
    state = MemoryState()
    for start in range(0, 500, 10):
        state.calls.clear()
        append_numbers(state, tables, start)
    assert state.calls == {"get": 1, "put": 2}  # the manifest, and one page


@pytest.mark.parametrize("tables", [1, 4])
def test_what_a_step_writes_does_not_grow_with_state(tables: int) -> None:
    state = MemoryState()
    written = [append_numbers(state, tables, start) for start in range(0, 12_000, 10)]
    assert sum(written[600:]) < 2 * sum(written[:600])
    assert state.stored_bytes < 3 * tables * 12_000 * (3 * 8 + 1)
