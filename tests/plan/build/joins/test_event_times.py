"""Distances of event times that follow from the bounds of joins, compared with generated rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.plan.plans import plan

from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.facts.watermark_delay import result_time, watermark_delay_of
from millstream.plan.kinds.time_bounds import TimeBounds
from millstream.plan.nodes import IntervalJoin, Select

HOUR = 3_600_000_000
MINUTE = HOUR // 60


@st.composite
def bounded_rows(draw: st.DrawFn) -> tuple[list[int], EventTimes]:
    """Generates the event times of a row, each within bounds of one or two previous ones."""
    row = [draw(st.integers(-20, 20))]
    times = EventTimes().with_time(0, "t0", {})
    for number in range(1, draw(st.integers(2, 5))):
        row.append(draw(st.integers(-20, 20)))
        links = {}
        for one in draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=2)):
            apart = row[number] - row[one]
            below, above = draw(st.integers(0, 5)), draw(st.integers(0, 5))
            open_end = draw(st.booleans())
            links[one] = TimeBounds(None if open_end else apart - below, apart + above)
        times = times.with_time(number, f"t{number}", links)
    return row, times


@given(bounded_rows())
def test_the_distances_of_all_times_are_within_the_derived_bounds(
    generated: tuple[list[int], EventTimes],
) -> None:
    row, times = generated
    for one, start in enumerate(row):
        for other, end in enumerate(row):
            distance = times.distance(one, other)
            assert distance.lower is None or distance.lower <= end - start
            assert distance.upper is None or end - start <= distance.upper


def test_bounds_of_a_chain_are_transitive() -> None:
    times = EventTimes().with_time(0, "a", {}).with_time(1, "b", {0: TimeBounds(0, 1)})
    times = times.with_time(2, "c", {1: TimeBounds(0, 2)})
    assert times.distance(0, 2) == TimeBounds(0, 3)
    assert times.distance(2, 0) == TimeBounds(-3, 0)


def test_an_event_time_that_the_last_join_does_not_use_has_the_delay_of_its_distance() -> None:
    root = plan(
        """SELECT a.order_id, a.event_time FROM orders a
        JOIN orders b WITHIN 5 MINUTES USING (order_id)
        JOIN shipments c ON c.order_id = b.order_id
          AND c.event_time BETWEEN b.event_time AND b.event_time + INTERVAL 1 HOUR"""
    ).root
    hold = result_time(root)
    assert hold is not None
    assert hold.delay == HOUR + 5 * MINUTE
    assert isinstance(root.input, IntervalJoin)
    assert isinstance(root.input.left.node, Select)
    assert watermark_delay_of(root.input.left.node) == root.input.left.delay == 5 * MINUTE


def test_a_window_join_delays_the_watermark_by_the_window_size() -> None:
    root = plan(
        """SELECT e.a FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR)
        JOIN shipments s WINDOW TUMBLING(INTERVAL 1 HOUR) USING (order_id)
        JOIN events e ON e.s = s.carrier
          AND e.t BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR
        WITH ('window.lateness' = '5m')"""
    ).root
    assert isinstance(root.input, IntervalJoin)
    assert root.input.left.delay == HOUR - 1 + 5 * MINUTE
