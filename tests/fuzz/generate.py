"""Random pipelines of one to three steps over three sources and a table."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz import joins, operators, window_joins
from tests.fuzz.shapes import Step, Stream, source
from tests.fuzz.streams import declared, table_declared

SOURCES = ("a", "b", "c")
TABLE = "d"
JOINS: tuple[Callable[[random.Random, Stream, Stream], Step], ...] = (
    *(joins.interval, joins.interval, joins.several, joins.temporal),
    *(window_joins.window, window_joins.overlapping, window_joins.session),
)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A job's declarations and queries, and the same queries as views and a query of DuckDB."""

    declared: str
    queries: str
    views: tuple[tuple[str, str], ...]
    query: str
    grows: bool

    @property
    def sql(self) -> str:
        return self.declared + self.queries

    @property
    def ties(self) -> bool:
        """May rows have equal times? Where their order decides, it would be that of arrival."""
        return "ROWS BETWEEN" not in self.queries and "SYSTEM_TIME" not in self.queries


def random_pipeline(rng: random.Random) -> Pipeline:
    streams = [source(name) for name in SOURCES]
    sources = "".join([*(declared(name) for name in SOURCES), table_declared(TABLE)])
    statements: list[str] = []
    views: list[tuple[str, str]] = []
    depth = rng.choice((1, 1, 2, 2, 3))
    grows = True
    for number in range(depth):
        step = _step(rng, streams, last=streams[-1] if number else None)
        grows = grows and step.grows
        if number == depth - 1:
            statements.append(f"CREATE SINK out WITH ('connector' = 'memory') AS\n{step.ours};")
            return Pipeline(sources, "".join(statements), tuple(views), step.oracle, grows)
        name = f"s{number}"
        statements.append(f"CREATE STREAM {name} AS\n{step.ours};\n")
        views.append((name, step.oracle))
        streams.append(
            Stream(name, step.columns, step.time, changes=step.changes, window=step.window)
        )
    raise AssertionError


def _step(rng: random.Random, streams: list[Stream], last: Stream | None) -> Step:
    """A step over the last stream, or over a source if it is the first."""
    stream = last or rng.choice(streams)
    timed = stream.time is not None and not stream.changes
    kinds: list[str] = ["grouped", "ranking", "regular", "distinct"]
    if timed:
        kinds += ["windowed", "sessions", "join", "join", "join", "join", "table"]
    if stream.window:
        kinds += ["by_window"] * 4
    if stream.changes and rng.random() < 0.8:
        kinds.remove("distinct")  # it is rejected
    if stream.source:
        kinds += ["frames"]
    fitting = [each for each in streams if each.of(*stream.columns.values())]  # a key is possible
    match rng.choice(kinds):
        case "join":
            others = [each for each in fitting if each.time and not each.changes]
            pair = [stream, rng.choice(others)]
            rng.shuffle(pair)
            return rng.choice(JOINS)(rng, pair[0], pair[1])
        case "regular":
            return joins.regular(rng, stream, rng.choice(fitting))
        case "table":
            return joins.table(rng, stream, source(TABLE))
        case kind:
            made: Callable[[random.Random, Stream], Step] = getattr(operators, kind)
            return made(rng, stream)
