"""Processing time is sent to queries that need it, no more often than they need it, and never
goes back."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.plan.expressions import column
from millstream.plan.nodes import Column, Output, Pipeline, Query, Select, SinkDef, Source
from millstream.run.processing_time import ProcessingClock, ProcessingTimeSender
from millstream.temporal import Watermark

SECOND = 1_000_000


@dataclass
class RunningQuery:
    plan: Query


@dataclass
class Run:
    running: list[RunningQuery]
    found: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def send_processing_time(self, now: int) -> None:
        self.found.append(now)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def run(idle: int | None) -> Run:
    source = Source("s", (Column("t", "timestamp"),), Watermark("t"), idle=idle)
    root = Select(source, (Output(column(None, "t"), "t"),), alias="s")
    return Run([RunningQuery(Query((Pipeline("out", root, SinkDef("out", "memory")),)))])


def beats(given: Run, seconds: int) -> list[int]:
    return stepping(given, seconds, {})


def stepping(given: Run, seconds: int, steps: dict[int, int], start: int = 0) -> list[int]:
    """What is sent in so many seconds; `steps` of the system clock, by the second at which."""
    time = {"wall": 0, "monotonic": 0}
    clock = ProcessingClock(lambda: time["wall"], lambda: time["monotonic"], start)
    ticks = ProcessingTimeSender(given, clock)  # type: ignore[arg-type]
    for second in range(1, seconds + 1):
        time["monotonic"] += SECOND
        time["wall"] += SECOND + steps.get(second, 0) * SECOND
        ticks.send_if_due()
    return [at // SECOND for at in given.found]


def test_a_silence_is_noticed_within_half_its_timeout():
    assert beats(run(10 * SECOND), 16) == [5, 10, 15]


def test_there_is_a_tick_a_second_at_most():
    assert beats(run(100_000), 3) == [1, 2, 3]


def test_queries_without_need_get_no_processing_time():
    assert beats(run(None), 30) == []


def test_ticks_go_on_at_their_pace_when_the_clock_goes_back():
    given = run(10 * SECOND)
    assert stepping(given, 21, {7: -3600}) == [5, 10, 15, 20]
    assert given.warnings == [
        "the system clock was set back by 1h. Processing time continues without the step."
    ]


def test_ticks_follow_a_clock_that_goes_forward_and_never_go_back():
    given = run(10 * SECOND)
    assert stepping(given, 16, {3: 100, 12: -100}) == [105, 110, 115]
    assert len(given.warnings) == 1


def test_ticks_go_on_from_the_last_one_of_an_earlier_run():
    given = run(10 * SECOND)
    assert stepping(given, 11, {}, start=7200 * SECOND) == [7205, 7210]
    assert given.warnings == [
        "the system clock was set back by 2h. Processing time continues without the step."
    ]
