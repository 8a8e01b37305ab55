"""How the log keeps rows: few segments, few calls, nothing read that cannot matter."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from millstream.errors import StateError
from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.interval_join.kernel import IntervalJoin, IntervalJoinSpec
from millstream.kernels.state import pages
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME
from millstream.values import JoinType

HOUR = 3_600_000_000


class Steps:
    """An integer-keyed join fed by ranges of ids: row i has the key i and the time i seconds."""

    def __init__(
        self, how: JoinType = JoinType.LEFT, upper: int = HOUR, settings: LogSettings | None = None
    ) -> None:
        spec = IntervalJoinSpec(
            how, 0, upper, ("l_k",), ("r_k",), ("l_k", "l_text"), ("r_k",), key_is_hash=True
        )
        self.join = IntervalJoin(spec, settings=settings)
        self.state = MemoryState()
        self.watermark = BEGIN_OF_TIME
        self.out: list[pl.DataFrame] = []
        self.counts: dict[str, int] = {}

    def step(self, left: range, right: range = range(0), watermark: int | None = None) -> None:
        after = self.watermark if watermark is None else watermark * 1_000_000
        inputs = {0: self._frame("l", left), 1: self._frame("r", right)}
        self.state.calls.clear()
        result = self.join.step(self.state, inputs, WatermarkAdvance(self.watermark, after))
        self.watermark, self.counts = after, result.counts
        self.out += result.main

    def _frame(self, side: str, ids: range) -> pl.DataFrame:
        numbers = np.arange(ids.start, ids.stop, dtype=np.int64)
        texts = pl.Series([f"text of number {number}" for number in ids], dtype=pl.String)
        columns = {"_t": numbers * 1_000_000, f"{side}_k": numbers, f"{side}_text": texts}
        return pl.DataFrame(columns).with_columns(pl.Series("_h", numbers))

    @property
    def manifest(self) -> dict[str, object]:
        return json.loads(self.state.values["meta"].content or b"{}")  # type: ignore[no-any-return]

    @property
    def rows_out(self) -> int:
        return sum(frame.height for frame in self.out)


def test_many_small_batches_make_few_segments() -> None:
    run = Steps()
    for number in range(0, 3000, 10):
        run.step(range(number, number + 10), watermark=number - 3000)
    assert run.counts["left.in_state"] == 3000
    assert run.counts["segments"] <= 3
    small = Steps(settings=LogSettings(small_rows=1))
    most = 0
    for number in range(0, 3000, 10):
        small.step(range(number, number + 10), watermark=number - 3000)
        most = max(most, small.counts["segments"])
    assert most <= 3 * 5 + 1  # three of each tier: 10, 40, 160, 640, 2560


def test_a_small_step_reads_and_writes_the_manifest_and_one_page() -> None:
    run = Steps(JoinType.FULL)
    for number in range(0, 500, 10):
        run.step(range(number, number + 10), range(number, number + 5), watermark=number - 100)
    assert run.state.calls == {"get": 1, "put": 2}


def test_a_step_with_nothing_to_do_reads_only_the_manifest() -> None:
    run = Steps()
    run.step(range(100), watermark=0)
    run.step(range(0))
    assert run.state.calls == {"get": 1}
    run.step(range(0), watermark=50)  # nothing falls due in the first hour
    assert run.state.calls == {"get": 1}
    assert run.counts["left.in_state"] == 100


def test_expired_segments_are_not_read() -> None:
    run = Steps(JoinType.INNER, settings=LogSettings(small_rows=1, fan_in=100))
    for number in range(0, 500, 100):
        run.step(range(number, number + 100), watermark=number)
    cache.clear_cache()
    run.step(range(0), watermark=3600 + 300)
    assert run.state.calls == {"get": 1, "put": 1, "remove": 3}
    assert (run.counts["left.in_state"], run.counts["left.expired"]) == (200, 300)


def test_rows_expire_exactly_though_segments_are_dropped_whole() -> None:
    run = Steps(JoinType.INNER)
    run.step(range(100), watermark=0)
    run.step(range(0), watermark=3600 + 30)
    assert (run.counts["left.in_state"], run.counts["left.expired"]) == (70, 30)
    assert run.state.map("segments").content


def test_a_cold_scan_reads_only_segments_within_the_bounds() -> None:
    run = Steps(upper=50_000_000, settings=LogSettings(small_rows=1, fan_in=100))
    for number in range(0, 500, 100):
        run.step(range(number, number + 100))
    cache.clear_cache()
    run.step(range(0), range(310, 320))
    assert run.state.calls["get"] == 1 + 2  # the manifest, and the rows of 200 … 299 and 300 … 399
    assert run.rows_out == 10


def test_a_value_is_cut_by_time_when_it_grows_too_large() -> None:
    run = Steps(settings=LogSettings(max_blob=20_000))
    run.step(range(5000), watermark=0)
    pages = run.state.map("segments").content
    assert len(pages) > 10
    assert max(map(len, pages.values())) < 20_000 + 1_000  # rows, and the head of a stream
    run.step(range(0), range(5000))
    assert run.rows_out == 5000


def test_strings_of_a_large_frame_are_written_without_it() -> None:
    texts = pl.DataFrame({"text": [f"a text of some length {n}" for n in range(50_000)]})
    part = texts[10_000:15_000]
    assert part.height >= pages.SMALL_ROWS
    blob = pages.encode(part)
    assert len(blob) < 200_000
    assert pages.decode(blob, part.height).equals(part)
    small = pages.encode(texts[:100])
    assert len(small) < 10_000
    assert pages.decode(small, 100).equals(texts[:100])


@pytest.mark.parametrize("how", [JoinType.LEFT, JoinType.ANTI])
@pytest.mark.parametrize("recent_bytes", [0, 1 << 20])
def test_match_flags_survive_a_cache_miss(how: JoinType, recent_bytes: int) -> None:
    run = Steps(how, settings=LogSettings(recent_bytes=recent_bytes))
    run.step(range(6000), watermark=0)
    for number in range(0, 6000, 60):  # few marks a time: retained as numbers, or as bitmaps
        run.step(range(0), range(number, number + 6))
        if number % 600 == 0:
            cache.clear_cache()
    cache.clear_cache()
    run.out.clear()
    run.step(range(0), watermark=END_OF_TIME // 1_000_000)
    assert run.rows_out == 6000 - 600
    assert not any(frame["l_k"].is_in(range(6)).any() for frame in run.out)
    assert run.counts["state_rows"] == 0


def test_a_page_that_is_missing_is_an_error_and_not_a_wrong_result() -> None:
    run = Steps()
    run.step(range(100), watermark=0)
    cache.clear_cache()
    run.state.map("segments").content.clear()
    with pytest.raises(StateError, match="MS-STATE-LOST: the state store has no page 0"):
        run.step(range(0), range(10))


def test_state_of_another_format_is_rejected() -> None:
    run = Steps()
    run.state.value("meta").put(b'{"format":9}')
    with pytest.raises(StateError, match="MS-STATE-FORMAT: the state was written in format 9"):
        run.step(range(10))


def test_a_batch_that_is_retried_reads_the_state_of_before() -> None:
    run = Steps()
    run.step(range(100), watermark=0)
    before = run.state.copy()
    run.step(range(100, 200), range(50))  # marks rows that are decoded in this process
    run.state = before
    run.out.clear()
    run.step(range(0), range(0), watermark=END_OF_TIME // 1_000_000)
    assert run.rows_out == 100
    assert all(frame["r_k"].null_count() == frame.height for frame in run.out)
