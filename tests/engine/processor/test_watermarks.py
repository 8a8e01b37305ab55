"""The watermark of an operator: minimum rule, idle inputs, thresholds, results of operators."""

from __future__ import annotations

import pytest

from millstream.engine.processor.watermarks import InputSpec, WatermarkTracker
from millstream.errors import RunError
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

SECOND = 1_000_000


def tracker(*inputs: InputSpec) -> WatermarkTracker:
    return WatermarkTracker.load(None, inputs, "{}")


def reloaded(tracker: WatermarkTracker) -> WatermarkTracker:
    """As the next micro-batch finds it."""
    return WatermarkTracker.load(tracker.dump(), tracker.inputs, tracker.identity)


def test_the_slowest_input_decides():
    now = tracker(InputSpec("a", 5), InputSpec("b", 0))
    now.record_chunk(0, 100, 1)
    assert now.advance() == BEGIN_OF_TIME
    now = reloaded(now)
    now.record_chunk(1, 90, 1)
    assert now.advance() == 90
    now = reloaded(now)
    now.record_chunk(1, 300, 1)
    assert now.advance() == 95


def test_a_watermark_never_goes_back():
    now = tracker(InputSpec("a", 5))
    now.record_chunk(0, 100, 1)
    assert now.advance() == 95
    now.record_chunk(0, 10, 1)
    assert now.advance() == 95


def test_a_threshold_of_rows_lets_it_advance_at_every_nth_row():
    now = tracker(InputSpec("a", 0, advance_every_rows=3))
    now.record_chunk(0, 10, 2)
    assert now.advance() == BEGIN_OF_TIME
    now = reloaded(now)
    now.record_chunk(0, 7, 1)
    assert now.advance() == 10
    now = reloaded(now)
    now.record_chunk(0, 50, 2)
    assert now.advance() == 10


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_threshold_is_looked_at_when_all_of_a_batch_was_heard(order: tuple[int, int]):
    chunks = ((50, 5), (100, 3))
    now = tracker(InputSpec("a", 0, advance_every_rows=5))
    for number in order:
        now.record_chunk(0, *chunks[number])
    assert now.advance() == 100


def test_the_end_of_input_ends_silent_inputs_too():
    now = tracker(InputSpec("a", 0, idle_timeout=SECOND))
    now.set_processing_time(0)
    now.record_chunk(0, 10, 1)
    now.advance()
    now = reloaded(now)
    now.set_processing_time(5 * SECOND)
    now.advance()
    assert now.idle_inputs == ("a",)
    now = reloaded(now)
    now.end()
    assert now.advance() == END_OF_TIME


def test_an_operator_that_never_heard_anything_but_silence_holds_nobody_back():
    now = tracker(InputSpec("a", 0), InputSpec("results", 0, derived=True))
    now.record_chunk(0, 100, 1)
    now.record_chunk(1, None, 0, idle=True)
    assert now.advance() == 100


def test_a_silent_input_holds_nobody_back_until_it_speaks():
    now = tracker(InputSpec("a", 0), InputSpec("b", 0, idle_timeout=30 * SECOND))
    now.set_processing_time(0)
    now.record_chunk(0, 100, 1)
    assert now.advance() == BEGIN_OF_TIME
    now = reloaded(now)
    now.set_processing_time(29 * SECOND)
    assert now.advance() == BEGIN_OF_TIME
    now = reloaded(now)
    now.set_processing_time(30 * SECOND)
    assert now.advance() == 100
    assert now.idle_inputs == ("b",)
    now = reloaded(now)
    now.set_processing_time(31 * SECOND)
    now.record_chunk(1, 40, 1)
    now.record_chunk(0, 200, 1)
    assert now.advance() == 100, "an input with rows again does not decrease the watermark"
    assert now.idle_inputs == ()


def test_when_all_are_silent_time_stands_still():
    now = tracker(InputSpec("a", 0, idle_timeout=SECOND), InputSpec("b", 0, idle_timeout=SECOND))
    now.set_processing_time(0)
    now.record_chunk(0, 100, 1)
    now.record_chunk(1, 50, 1)
    assert now.advance() == 50
    now = reloaded(now)
    now.set_processing_time(2 * SECOND)
    assert now.advance() == 50
    assert now.idle_inputs == ("a", "b")


@pytest.mark.parametrize("tick_first", [True, False])
def test_the_order_of_packets_in_a_batch_does_not_matter(tick_first: bool):
    now = tracker(InputSpec("a", 0, idle_timeout=SECOND), InputSpec("b", 0, idle_timeout=SECOND))
    if tick_first:
        now.set_processing_time(5 * SECOND)
    now.record_chunk(0, 100, 1)
    if not tick_first:
        now.set_processing_time(5 * SECOND)
    now.advance()
    now = reloaded(now)
    now.set_processing_time(6 * SECOND)
    now.record_chunk(0, 100, 1)
    assert now.advance() == 100
    assert now.idle_inputs == ("b",)


def test_the_end_of_input_ends_sources_and_waits_for_other_operators():
    now = tracker(InputSpec("a", 5), InputSpec("results", 7, derived=True))
    now.record_chunk(1, 50, 3)
    now.end()
    assert now.advance() == 43
    now = reloaded(now)
    now.record_chunk(1, END_OF_TIME, 0)
    assert now.advance() == END_OF_TIME


def test_results_of_another_operator_move_time_by_what_it_says_of_itself():
    now = tracker(InputSpec("results", 10, derived=True))
    now.record_chunk(0, None, 500)
    assert now.advance() == BEGIN_OF_TIME
    now.record_chunk(0, 70, 0)
    assert now.advance() == 60


def test_an_operator_whose_watermark_goes_back_is_named():
    now = tracker(InputSpec("results", 0, derived=True))
    now.record_chunk(0, 70, 0)
    with pytest.raises(RunError, match="MS-RUN-WATERMARK: the watermark of results went back"):
        now.record_chunk(0, 60, 0)


def test_the_clock_itself_moves_an_input_that_goes_by_it():
    now = tracker(InputSpec("a", 0, wall_clock=True))
    now.record_chunk(0, 10, 1)
    assert now.advance() == 10
    now = reloaded(now)
    now.set_processing_time(25)
    assert now.advance() == 25


def test_an_operator_all_of_whose_inputs_are_silent_is_itself():
    now = tracker(InputSpec("results", 0, derived=True), InputSpec("b", 0))
    now.record_chunk(0, 70, 0, idle=True)
    now.record_chunk(1, 100, 1)
    assert now.advance() == 100


def test_an_operator_that_speaks_is_waited_for_though_its_watermark_is_not_known():
    now = tracker(InputSpec("results", 0, derived=True), InputSpec("b", 0))
    now.record_chunk(0, None, 0, idle=True)
    now.record_chunk(1, 50, 1)
    assert now.advance() == 50
    now = reloaded(now)
    now.record_chunk(0, None, 0, idle=False)
    now.record_chunk(0, None, 10)  # a chunk in which it says nothing
    now.record_chunk(1, 90, 1)
    assert now.advance() == 50


def test_processing_time_never_decreases():
    now = tracker(InputSpec("a", 0, wall_clock=True))
    now.set_processing_time(3600 * SECOND)
    now.record_chunk(0, 3600 * SECOND, 1)
    assert now.advance() == 3600 * SECOND
    now = reloaded(now)
    now.set_processing_time(5 * SECOND)
    now.record_chunk(0, 5 * SECOND, 1)
    assert (now.advance(), now.now) == (3600 * SECOND, 3600 * SECOND)


def test_a_processing_time_window_over_results_goes_by_processing_time_until_the_end():
    now = tracker(InputSpec("results", 0, derived=True, wall_clock=True))
    now.set_processing_time(100)
    now.record_chunk(0, 70, 1, idle=True)
    assert now.advance() == 100
    now = reloaded(now)
    now.set_processing_time(200)
    now.record_chunk(0, 80, 1)
    assert now.advance() == 200
    now = reloaded(now)
    now.record_chunk(0, END_OF_TIME, 0)
    assert now.advance() == END_OF_TIME
