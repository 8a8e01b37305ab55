from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.aggregate.oracle import Row, windows_of

from millstream.kernels.core.specs import AggregateSpec
from millstream.kernels.core.windows import (
    any_window_ends,
    assign_windows,
    last_window_time,
    pane_time,
)
from millstream.temporal import Window, WindowKind


def spec_of(window: Window | None) -> AggregateSpec:
    return AggregateSpec((), (), window)


SLIDING = st.builds(
    lambda slide, count, offset: Window(WindowKind.SLIDING, slide * count, slide, offset),
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(-20, 20),
)
TIMES = st.lists(st.integers(-60, 60), max_size=8)


def test_windows_are_aligned_to_the_epoch_and_the_offset_also_before_it() -> None:
    frame = pl.DataFrame({"_t": [-1, 0, 9, 10]})
    plain = Window(WindowKind.TUMBLING, 10, 10)
    shifted = Window(WindowKind.TUMBLING, 10, 10, offset=3)
    assert frame.select(pane_time(spec_of(plain)))["_t"].to_list() == [-1, 9, 9, 19]
    assert frame.select(pane_time(spec_of(shifted)))["_t"].to_list() == [2, 2, 12, 12]


def test_without_a_window_a_row_uses_its_own_time_and_an_inherited_window_its_end() -> None:
    frame = pl.DataFrame({"_t": [5], "_we": [30]})
    assert frame.select(pane_time(spec_of(None))).item() == 5
    assert frame.select(pane_time(spec_of(Window(WindowKind.INHERITED)))).item() == 29


@given(SLIDING, TIMES, st.integers(-70, 70), st.integers(0, 80))
def test_panes_are_put_into_exactly_the_windows_of_their_rows(
    window: Window, times: list[int], start: int, length: int
) -> None:
    spec, stop = spec_of(window), start + length
    frame = pl.DataFrame({"_t": times}, schema={"_t": pl.Int64}).with_row_index("row")
    panes = frame.with_columns(pane_time(spec).alias("_t"))
    parts, ends = assign_windows(panes, window, start, stop)
    found = sorted(zip(parts["row"].to_list(), ends.to_list(), strict=True))
    spans = [(i, span) for i, t in enumerate(times) for span in windows_of(spec, Row(i, t, ()))]
    expected = [(row, span[1] - 1) for row, span in spans if span and start <= span[1] - 1 < stop]
    assert found == sorted(expected)


@given(SLIDING, st.integers(-60, 60))
def test_the_last_window_of_a_row_is_the_one_that_begins_last(window: Window, time: int) -> None:
    spec = spec_of(window)
    found = pl.DataFrame({"_t": [time]}).select(last_window_time(spec)).item()
    assert found == max(span[1] - 1 for span in windows_of(spec, Row(0, time, ())) if span)


@given(SLIDING, st.integers(-60, 60), st.integers(0, 30))
def test_there_is_time_work_only_where_a_window_ends(window: Window, since: int, more: int) -> None:
    ends = {
        span[1]
        for time in range(since - window.size - 1, since + more + 1)
        for span in windows_of(spec_of(window), Row(0, time, ()))
        if span
    }
    expected = any(since < end <= since + more for end in ends)
    assert any_window_ends(window, since, since + more) == expected
