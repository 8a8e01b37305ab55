"""Windows of both sides of a join against what they mean, window by window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.plan.kinds.window_pairs import WindowPair, pair_windows
from millstream.temporal import Window, WindowKind
from millstream.values import JoinType

times = st.integers(-60, 60)
tumbling = st.builds(
    lambda size, offset: Window(WindowKind.TUMBLING, size, size, offset % size),
    st.integers(1, 12),
    st.integers(0, 11),
)
sliding = st.builds(
    lambda slide, count, offset: Window(WindowKind.SLIDING, slide * count, slide, offset % slide),
    st.integers(1, 6),
    st.integers(2, 5),
    st.integers(0, 5),
)


def starts_of(window: Window, time: int) -> list[int]:
    """Where the windows begin that a time is in."""
    begins = range(time - window.size + 1, time + 1)
    return [start for start in begins if (start - window.offset) % window.slide == 0]


def overlap(one: Window, other: Window, times: tuple[int, int]) -> bool:
    return any(
        start < begin + other.size and begin < start + one.size
        for start in starts_of(one, times[0])
        for begin in starts_of(other, times[1])
    )


def last_moment(pane: Window, time: int) -> int:
    (start,) = starts_of(pane, time)
    return start + pane.size - 1


def stands_at(pair: WindowPair, number: int, time: int) -> int:
    """The moment by which the join goes for a row of one side."""
    return last_moment(pair.panes[number], time) + pair.last_window_delay[number]


@given(tumbling, sliding, times, times)
def test_a_pair_is_in_the_bound_if_any_sliding_window_overlaps_the_tumbling_one(
    one: Window, other: Window, left: int, right: int
) -> None:
    for windows, pair_times in (((one, other), (left, right)), ((other, one), (left, right))):
        pair = pair_windows(*windows, JoinType.INNER, ("a", "b"), None)
        moments = [stands_at(pair, number, time) for number, time in enumerate(pair_times)]
        inside = pair.bounds.lower <= moments[1] - moments[0] <= pair.bounds.upper
        assert inside == overlap(*windows, pair_times)


@given(tumbling, sliding, times, st.integers(-80, 80))
def test_a_row_is_late_once_the_last_of_its_windows_has_closed(
    one: Window, other: Window, time: int, watermark: int
) -> None:
    for windows in ((one, other), (other, one)):
        pair = pair_windows(*windows, JoinType.INNER, ("a", "b"), None)
        for number, window in enumerate(windows):
            open_still = any(start + window.size > watermark for start in starts_of(window, time))
            assert (stands_at(pair, number, time) >= watermark) == open_still


@given(tumbling | sliding, times, times)
def test_rows_of_one_window_stand_at_one_moment(window: Window, left: int, right: int) -> None:
    pair = pair_windows(window, window, JoinType.FULL, ("a", "b"), None)
    shared = set(starts_of(window, left)) & set(starts_of(window, right))
    assert pair.are_equal
    assert (pair.bounds.lower, pair.bounds.upper) == (0, 0)
    moments = [{start + window.size - 1 for start in starts_of(window, t)} for t in (left, right)]
    assert len(moments[0] & moments[1]) == len(shared)


@given(tumbling, sliding, times, times)
def test_a_row_is_as_far_from_its_window_as_the_pair_says(
    one: Window, other: Window, left: int, right: int
) -> None:
    pair = pair_windows(one, other, JoinType.FULL, ("a", "b"), None)
    moments = [last_moment(pair.panes[0], left), last_moment(pair.panes[1], right)]
    if overlap(one, other, (left, right)):
        for number, time in enumerate((left, right)):
            apart = pair.time_bounds(number)
            assert apart.lower is not None
            assert apart.upper is not None
            assert apart.lower <= time - moments[pair.window_side] <= apart.upper
