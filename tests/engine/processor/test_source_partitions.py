"""Watermarks over sources with partitions: minimum, idle, new and ended partitions, late rows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.processor.fake_processor import Processor
from tests.engine.processor.watermark_oracle import Chunk, MicroBatch, Oracle

from millstream.connectors.work_items import PARTITION
from millstream.engine.processor.watermarks import InputSpec, WatermarkTracker
from millstream.engine.shuffle.format import KNOWN_PARTITION, PROCESSING_TIME
from millstream.engine.shuffle.packer import PackerSpec
from millstream.kernels.core.specs import DeduplicateSpec
from millstream.kernels.deduplicate import Deduplicate
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, LateAction, LatePolicy

SECOND = 1_000_000
ORDERS = InputSpec("orders", 0, source="orders")


def tracker(*inputs: InputSpec) -> WatermarkTracker:
    return WatermarkTracker.load(None, inputs, "{}")


def again(found: WatermarkTracker) -> WatermarkTracker:
    """As the next micro-batch finds it."""
    return WatermarkTracker.load(found.dump(), found.inputs, found.identity)


def run(
    found: WatermarkTracker, now: int, ended: str | None = None, **max_times: int | None
) -> tuple[WatermarkTracker, int]:
    """One batch with rows of partitions of the first input; returns the next batch's tracker."""
    found = again(found)
    found.set_processing_time(now)
    if max_times:
        max_time = max((each for each in max_times.values() if each is not None), default=None)
        found.record_chunk(0, max_time, len(max_times), partitions=max_times)
    if ended is not None:
        found.end("orders", ended)
    return found, found.advance()


def test_the_slowest_partition_decides() -> None:
    found, watermark = run(tracker(replace(ORDERS, delay=5)), 0, a=100, b=60)
    assert watermark == 55
    found, watermark = run(found, 0, b=200)
    assert watermark == 95
    assert found.max_times == {"orders": 100}


def test_an_announced_partition_is_waited_for_before_it_has_rows() -> None:
    found = tracker(ORDERS)
    found.set_processing_time(0)
    found.add_partition("orders", "a")
    found.add_partition("orders", "b")
    found.add_partition("clicks", "c")  # of another source
    found.record_chunk(0, 100, 1, partitions={"a": 100})
    assert found.advance() == BEGIN_OF_TIME
    found, watermark = run(found, 0, b=70)
    assert watermark == 70


def test_an_idle_partition_does_not_count_until_it_has_rows() -> None:
    found, watermark = run(tracker(replace(ORDERS, idle_timeout=10 * SECOND)), 0, a=100, b=60)
    assert watermark == 60
    found, watermark = run(found, 9 * SECOND, a=200)
    assert watermark == 60
    found, watermark = run(found, 10 * SECOND, a=300)
    assert (watermark, found.idle_inputs) == (300, ())
    found, watermark = run(found, 11 * SECOND, a=400, b=150)
    assert watermark == 300, "the watermark does not go back"
    found, watermark = run(found, 12 * SECOND, b=350)
    assert watermark == 350


def test_an_input_is_idle_when_all_its_partitions_are() -> None:
    clicks = InputSpec("clicks", 0, source="clicks")
    found, _ = run(tracker(replace(ORDERS, idle_timeout=10 * SECOND), clicks), 0, a=100, b=60)
    found, _ = run(found, 5 * SECOND, a=110)
    found.record_chunk(1, 500, 1)
    assert found.advance() == 60
    found, watermark = run(found, 10 * SECOND)
    assert (watermark, found.idle_inputs) == (110, ())
    found, watermark = run(found, 15 * SECOND)
    assert (watermark, found.idle_inputs) == (500, ("orders",))
    assert not found.is_idle


def test_a_new_partition_holds_the_watermark_from_its_first_rows_on() -> None:
    found, watermark = run(tracker(ORDERS), 0, a=100)
    assert watermark == 100
    found, watermark = run(found, 0, a=200, b=50)
    assert watermark == 100, "neither back to the new partition nor on without it"
    found, watermark = run(found, 0, b=150)
    assert watermark == 150


def test_a_partition_whose_rows_have_no_time_is_not_idle() -> None:
    found, _ = run(tracker(replace(ORDERS, idle_timeout=10 * SECOND)), 0, a=100, b=60)
    found, watermark = run(found, 10 * SECOND, a=200, b=None)
    assert watermark == 60


def test_a_partition_that_has_ended_does_not_count() -> None:
    found, _ = run(tracker(ORDERS), 0, a=100, b=60)
    found, watermark = run(found, 0, ended="b")
    assert watermark == 100
    found, watermark = run(found, 0, ended="a")
    assert watermark == END_OF_TIME


def test_partitions_that_have_ended_do_not_end_the_input_while_others_are_idle() -> None:
    found, _ = run(tracker(replace(ORDERS, idle_timeout=SECOND)), 0, a=100, b=60)
    found, watermark = run(found, 5 * SECOND, ended="b")
    assert (watermark, found.is_idle) == (60, True)
    found, watermark = run(found, 5 * SECOND, a=110)
    assert watermark == 110


def test_the_end_of_one_partition_says_nothing_of_those_not_known_yet() -> None:
    found, watermark = run(tracker(ORDERS), 0, ended="a")
    assert watermark == BEGIN_OF_TIME
    found, watermark = run(found, 0, b=50)
    assert watermark == 50


def test_the_end_of_input_ends_partitions_that_appear_in_the_same_batch() -> None:
    found, _ = run(tracker(ORDERS), 0, a=100)
    found = again(found)
    found.end()
    found.record_chunk(0, 10, 1, partitions={"b": 10})
    assert found.advance() == END_OF_TIME


def test_processing_time_is_the_progress_of_all_partitions_of_a_processing_time_input() -> None:
    found = tracker(InputSpec("orders", 0, wall_clock=True, source="orders"))
    found, watermark = run(found, 70, a=10, b=20)
    assert watermark == 70


# --- properties

SOURCES = ("orders", "clicks")
NAMES = ("0", "1", "2", "é")
TOP = st.one_of(st.none(), st.integers(-50, 200))
CHUNK = st.builds(
    Chunk,
    st.integers(0, 1),
    st.dictionaries(st.sampled_from(NAMES), TOP, min_size=1, max_size=3),
    st.integers(1, 5),
)
BATCH = st.builds(
    MicroBatch,
    st.integers(-2, 20),  # added to the time of the batch before: a clock may go back
    st.lists(CHUNK, max_size=4),
    st.lists(st.tuples(st.sampled_from(SOURCES), st.sampled_from(NAMES)), max_size=2),
    st.lists(st.tuples(st.sampled_from(SOURCES), st.none() | st.sampled_from(NAMES)), max_size=1),
)
INPUT = st.builds(
    InputSpec,
    st.just("input"),
    st.integers(0, 20),
    advance_every_rows=st.sampled_from([1, 1, 4]),
    idle_timeout=st.none() | st.integers(1, 15),
)


def cut(chunk: Chunk, chance: random.Random) -> list[Chunk]:
    """A chunk, or the same rows as one chunk per partition."""
    whole = len(chunk.max_times) == 1 or None in chunk.max_times.values() or chance.random() < 0.5
    if whole:
        return [chunk]
    (first, max_time), *others = chunk.max_times.items()
    one = Chunk(chunk.input, {first: max_time}, chunk.rows)
    return [one, *(Chunk(chunk.input, {name: its}, 0) for name, its in others)]


def apply(found: WatermarkTracker, batch: MicroBatch, chance: random.Random) -> int:
    """Packets of a batch come in any order."""
    calls: list[Callable[[], None]] = [partial(found.set_processing_time, batch.now)]
    for chunk in (each for whole in batch.chunks for each in cut(whole, chance)):
        max_time = max(
            (each for each in chunk.max_times.values() if each is not None), default=None
        )
        calls.append(
            partial(
                found.record_chunk, chunk.input, max_time, chunk.rows, partitions=chunk.max_times
            )
        )
    calls += [partial(found.add_partition, *each) for each in batch.announced]
    calls += [partial(found.end, *each) for each in batch.ended]
    chance.shuffle(calls)
    for call in calls:
        call()
    return found.advance()


@given(
    st.lists(INPUT, min_size=1, max_size=2),
    st.lists(BATCH, max_size=12),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_a_tracker_decides_as_the_definition_says(
    specs: list[InputSpec], batches: list[MicroBatch], ends: bool, chance: random.Random
) -> None:
    inputs = tuple(
        replace(spec, name=source, source=source)
        for spec, source in zip(specs, SOURCES, strict=False)
    )
    oracle, found, now = Oracle(inputs), tracker(*inputs), 0
    if ends:
        batches = [*batches, MicroBatch(1, ended=[(None, None)])]
    for batch in batches:
        now += batch.now
        its = [chunk for chunk in batch.chunks if chunk.input < len(inputs)]
        batch = replace(batch, now=now, chunks=its)  # noqa: PLW2901
        before = found.watermark
        first_try = again(found)
        found = again(found)
        watermark = apply(found, batch, chance)
        assert watermark == oracle.run(batch) >= before
        assert apply(first_try, batch, chance) == watermark
        assert json.loads(first_try.dump()) == json.loads(found.dump())
    if ends:
        assert found.watermark == END_OF_TIME


def rows_of(max_times: list[tuple[str, int]], now: int) -> pa.Table:
    """Rows as Spark sends them to a packer, each with a key of its own."""
    names, times = zip(*max_times, strict=True)
    keys = pa.array([hash((number, now)) for number in range(len(max_times))], pa.int64())
    return pa.table({
        "_t": pa.array(times, pa.int64()), "_h": keys, "k": keys,
        PARTITION: pa.array(names, pa.string()),
    })  # fmt: skip


ROWS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 200)), max_size=6)


@given(
    st.lists(st.tuples(ROWS, st.integers(0, 20)), max_size=8),
    st.none() | st.integers(1, 15),
    st.integers(0, 10),
    st.lists(st.sampled_from(NAMES), max_size=4),
)
def test_rows_behind_the_watermark_before_their_batch_are_late(
    batches: list[tuple[list[tuple[str, int]], int]], idle: int | None, delay: int,
    announced: list[str],
) -> None:  # fmt: skip
    spec = InputSpec("orders", delay, idle_timeout=idle, source="orders")
    kernel = Deduplicate(
        DeduplicateSpec(("k",), ("k",), 1, late=LatePolicy(LateAction.SIDE_OUTPUT))
    )
    packer_spec = PackerSpec(0, "orders", (0, 1), has_partition_column=True)
    processor = Processor(kernel, ("k",), spec, packer_spec)
    oracle, now = Oracle((spec,)), 0
    control: list[dict[str, Any]] = [
        {"kind": KNOWN_PARTITION, "partitions": json.dumps({"source": "orders", "partition": name})}
        for name in announced
    ]
    for number, (rows, later) in enumerate(batches):
        now += later
        before = oracle.watermark
        max_times: dict[str, int | None] = {}
        for name, time in rows:
            max_times[name] = max(time, max_times.get(name) or time)
        chunks = [Chunk(0, max_times, len(rows))] if max_times else []
        referenced_column = [("orders", name) for name in announced] if number == 0 else []
        retried = processor.copy()
        table = rows_of(rows, now) if rows else None
        messages = [*(control if number == 0 else []), {"kind": PROCESSING_TIME, "now": now}]
        output = processor.batch(table, now, control=messages)
        oracle.run(MicroBatch(now, chunks, referenced_column))
        assert {each["watermark_after"] for each in output.stats} == {oracle.watermark}
        assert sorted(row["_t"] for row in output.late) == sorted(
            time for _, time in rows if time < before
        )
        again = retried.batch(table, now, control=messages)
        assert (again.stats, again.late) == (output.stats, output.late)
