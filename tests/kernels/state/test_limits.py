from __future__ import annotations

import pytest
from tests.kernels.interval_join.harness import Harness
from tests.kernels.interval_join.oracle import Join, Row
from tests.kernels.interval_join.test_kernel_properties import spec_of

from millstream.errors import StateError
from millstream.kernels.interval_join.kernel import IntervalJoin
from millstream.kernels.state.limits import Pressure, pressure
from millstream.temporal import OnLimit, StateLimit
from millstream.values import JoinType

ROWS = [Row(number, number, ("a", number)) for number in range(10)]


@pytest.mark.parametrize(
    ("rows", "size", "expected"),
    [
        (0, 0, Pressure.NORMAL),
        (79, 0, Pressure.NORMAL),
        (80, 0, Pressure.WARNING),
        (94, 0, Pressure.WARNING),
        (95, 0, Pressure.CRITICAL),
        (10, 950, Pressure.CRITICAL),
        (10, 800, Pressure.WARNING),
        (200, 0, Pressure.CRITICAL),
    ],
)
def test_pressure_is_that_of_the_nearer_limit(rows: int, size: int, expected: Pressure) -> None:
    counts = {"state_rows": rows, "state_bytes": size}
    assert pressure(counts, StateLimit(100, 1000)) is expected


def test_without_a_limit_there_is_no_pressure() -> None:
    assert pressure({"state_rows": 10**9, "state_bytes": 10**12}, StateLimit()) is Pressure.NORMAL


def harness_of(limit: StateLimit, how: JoinType = JoinType.LEFT) -> Harness:
    return Harness(IntervalJoin(spec_of(Join(how, 0, 100), limit=limit)))


def test_state_over_its_limit_fails_and_says_what_to_do() -> None:
    harness = harness_of(StateLimit(max_rows=9))
    with pytest.raises(StateError) as failure:
        harness.feed(ROWS, [])
    assert str(failure.value) == (
        "MS-STATE-LIMIT: one key group of the join has 10 rows; its limit is 9. Raise "
        "'state.max_rows', narrow the join's time bound, or set 'state.on_limit' = 'evict' to "
        "evict the oldest rows."
    )
    assert harness.state.stored_bytes == 0


def test_bytes_are_limited_too() -> None:
    with pytest.raises(StateError, match=r"has \d+ bytes; its limit is 100\. Raise 'state.max_b"):
        harness_of(StateLimit(max_bytes=100)).feed(ROWS, [])


def test_at_the_limit_nothing_happens() -> None:
    harness = harness_of(StateLimit(max_rows=10))
    assert not harness.feed(ROWS, [])
    assert harness.last.counts["left.in_state"] == 10


def test_the_oldest_rows_are_evicted_first_and_are_emitted_unmatched_once() -> None:
    harness = harness_of(StateLimit(max_rows=4, on_limit=OnLimit.EVICT))
    assert harness.feed(ROWS, []) == {(number, None): 1 for number in range(6)}
    assert harness.last.counts["left.evicted"] == 6
    assert harness.feed([], [Row(0, 20, ("a", 7)), Row(1, 21, ("a", 1))]) == {
        (7, 0): 1,
        (6, None): 1,  # the right rows need room: the oldest left rows go, whether matched or not
    }
    assert harness.finish() == {(8, None): 1, (9, None): 1}


def test_bytes_over_the_limit_evict_rows_until_the_limit_holds() -> None:
    many = [Row(number, number, ("a", number)) for number in range(1000)]
    harness = harness_of(StateLimit(max_bytes=20_000, on_limit=OnLimit.EVICT))
    harness.feed(many, [])
    counts = harness.last.counts
    assert 0 < counts["state_bytes"] <= 20_000
    assert counts["left.evicted"] == 1000 - counts["left.in_state"] > 0
