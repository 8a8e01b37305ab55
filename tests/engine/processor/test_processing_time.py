"""When the system clock goes back, rows of processing-time windows are never late."""

from __future__ import annotations

from functools import partial

import polars as pl
import pyarrow as pa
import pytest
from tests.engine.processor.fake_processor import Processor

from millstream.engine.processor.watermarks import InputSpec
from millstream.engine.shuffle.packer import PackerSpec
from millstream.kernels.aggregate.kernel import create_kernel, pre_aggregate
from millstream.kernels.core.specs import AggregateSpec, CallSpec, DeduplicateSpec
from millstream.kernels.deduplicate import Deduplicate
from millstream.temporal import Window, WindowKind

SECOND = 1_000_000
HOUR = 3600 * SECOND
START = 100 * HOUR
TYPES = {
    "k": pl.String(),
    "_window_start": pl.Int64(),
    "_window_end": pl.Int64(),
    "_window_time": pl.Int64(),
    "n": pl.Int64(),
}
WINDOWS = {
    "tumbling": Window(WindowKind.TUMBLING, 10 * SECOND, 10 * SECOND, wall_clock=True),
    "sliding": Window(WindowKind.SLIDING, 20 * SECOND, 10 * SECOND, wall_clock=True),
    "session": Window(WindowKind.SESSION, 10 * SECOND, wall_clock=True),
}


def rows(now: int, keys: str = "aab") -> pa.Table:
    """Rows as Spark sends them: their time is that of the batch."""
    hashes = pa.array([ord(key) for key in keys], pa.int64())
    times = pa.repeat(pa.scalar(now, pa.int64()), len(keys))
    return pa.table({"_t": times, "_h": hashes, "k": list(keys)})


def counting(window: Window, *, fold: bool) -> Processor:
    spec = AggregateSpec(("k",), (CallSpec("count", "n"),), window)
    packer_spec = PackerSpec(0, "s", (0, 1), fold=partial(pre_aggregate, spec) if fold else None)
    compiled = create_kernel(spec, TYPES)
    return Processor(compiled, tuple(TYPES), InputSpec("s", 0, wall_clock=True), packer_spec)


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("name", WINDOWS)
def test_no_row_of_a_processing_time_window_is_late_when_the_clock_goes_back(
    name: str, fold: bool
) -> None:
    window = WINDOWS[name]
    processor = counting(window, fold=fold)
    # Twenty batches, a second apart; after the fifth the system clock goes back by an hour.
    times = [START + (number - (3600 if number >= 5 else 0)) * SECOND for number in range(20)]
    emitted = []
    for now in times:
        output = processor.batch(rows(now), now)
        emitted += output.main
    emitted += processor.batch(None, times[-1], end=True).main
    copies = 2 if window.kind is WindowKind.SLIDING else 1
    assert sum(row["n"] for row in emitted) == copies * 3 * len(times)
    assert output.count("input.late") == 0
    assert min(row["_window_start"] for row in emitted) >= START - 20 * SECOND


def test_a_retried_batch_after_a_step_back_emits_the_same_rows() -> None:
    processor = counting(WINDOWS["tumbling"], fold=True)
    processor.batch(rows(START), START)
    retried = processor.copy()
    back = START - HOUR
    first = processor.batch(rows(back), back, end=True).main
    assert retried.batch(rows(back), back, end=True).main == first
    assert sorted((row["k"], row["_window_start"], row["n"]) for row in first) == [
        ("a", START, 4),
        ("b", START, 2),
    ]


def test_processing_time_goes_on_with_ticks_while_the_clock_is_behind() -> None:
    processor = counting(WINDOWS["tumbling"], fold=True)
    processor.batch(rows(START), START)
    back = START - HOUR
    send_processing_time = {"kind": 3, "now": START + 12 * SECOND}
    emitted = processor.batch(rows(back, "c"), back, control=[send_processing_time]).main
    assert sorted((row["k"], row["n"]) for row in emitted) == [("a", 2), ("b", 1)]
    [last] = processor.batch(None, back, end=True).main
    assert (last["k"], last["_window_start"]) == ("c", START + 10 * SECOND)


def test_distinct_without_event_time_drops_no_row_when_the_clock_goes_back() -> None:
    spec = DeduplicateSpec(("k",), ("k",), None)
    processor = Processor(
        Deduplicate(spec),
        ("k",),
        InputSpec("s", 0, wall_clock=True),
        PackerSpec(0, "s", (0, 1)),
    )
    assert len(processor.batch(rows(START, "ab"), START).main) == 2
    output = processor.batch(rows(START - HOUR, "bc"), START - HOUR)
    assert output.main == [{"k": "c"}]
    assert output.count("input.late") == 0
