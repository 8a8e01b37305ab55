"""The time is told to those who go by it, and no oftener than they need."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.plan.nodes import Column, Output, Pipeline, Select, SinkDef, Source
from millstream.run.ticks import Ticks
from millstream.temporal import Watermark

SECOND = 1_000_000


@dataclass
class Running:
    pipeline: Pipeline


@dataclass
class Run:
    running: list[Running]
    told: list[int] = field(default_factory=list)

    def tell_time(self, now: int) -> None:
        self.told.append(now)


def run(idle: int | None) -> Run:
    source = Source("s", (Column("t", "timestamp"),), Watermark("t"), idle=idle)
    root = Select(source, (Output("t", "t"),), alias="s")
    return Run([Running(Pipeline("out", root, SinkDef("out", "memory")))])


def beats(given: Run, seconds: int) -> list[int]:
    now = iter(range(0, seconds * SECOND + 1, SECOND))
    ticks = Ticks(given, clock=lambda: next(now))  # type: ignore[arg-type]
    for _ in range(seconds):
        ticks.beat()
    return [at // SECOND for at in given.told]


def test_a_silence_is_noticed_within_half_its_timeout():
    assert beats(run(10 * SECOND), 16) == [5, 10, 15]


def test_there_is_a_tick_a_second_at_most():
    assert beats(run(100_000), 3) == [1, 2, 3]


def test_nobody_who_does_not_ask_is_told_the_time():
    assert beats(run(None), 30) == []
