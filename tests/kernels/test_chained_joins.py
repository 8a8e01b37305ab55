"""Pairs of a tumbling × sliding join, emitted once their window has closed, in a tumbling join."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl
import pytest
from tests.kernels.operator_chain import ROUNDS, Operator

from millstream.kernels.core.specs import OverAggregateSpec
from millstream.kernels.interval_join.kernel import IntervalJoin, IntervalJoinSpec
from millstream.kernels.interval_join.spec import OtherSideWindows
from millstream.kernels.over_aggregate.kernel import OverAggregate
from millstream.plan.build.job import build_job
from millstream.plan.nodes import RowsOver as RowsOverNode
from millstream.plan.nodes import WindowJoin as JoinNode
from millstream.plan.nodes.traversal import operators_of
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, Window
from millstream.values import JoinType

JOB = """
CREATE SOURCE a (id BIGINT, k BIGINT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL {delay} SECONDS);
CREATE SOURCE b (id BIGINT, k BIGINT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL {delay} SECONDS);
CREATE SOURCE c (id BIGINT, k BIGINT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL {delay} SECONDS);
CREATE STREAM pairs AS SELECT a.k, a.id AS a, b.id AS b, _WINDOW_TIME AS t
  FROM a WINDOW TUMBLING(INTERVAL {tumbling} SECONDS)
  LEFT JOIN b WINDOW SLIDING(SIZE INTERVAL {sliding} SECONDS, SLIDE INTERVAL {slide} SECONDS)
  ON a.k = b.k EMIT FINAL;
CREATE SINK o AS SELECT p.a, p.b, c.id FROM pairs p LEFT JOIN c ON p.k = c.k
  WINDOW TUMBLING(INTERVAL {last} SECONDS, OFFSET INTERVAL {offset} SECONDS);
"""
SECOND = 1_000_000
NONE = 999
_NOBODY: list[int | None] = [None]
INT = pl.Int64
Rows = list[tuple[str, int, int, int]]  # stream, id, key, time


def stand(window: Window, t: int) -> int:
    """The last microsecond of the last window of a row."""
    return t - (t - window.offset) % window.slide + window.size - 1


def behind(mark: int, by: int) -> int:
    return mark if mark in (BEGIN_OF_TIME, END_OF_TIME) else mark - by


@dataclass
class Chain:
    """The job's operators; windows and lags are those of its plan."""

    rng: random.Random
    delay: int

    def __post_init__(self) -> None:
        rng = self.rng
        slide, last = rng.randint(1, 5), rng.randint(2, 15)
        text = JOB.format(
            tumbling=rng.randint(1, 12), sliding=slide * rng.randint(2, 4), slide=slide,
            last=last, offset=rng.randrange(last), delay=self.delay,
        )  # fmt: skip
        outer, waiting, join = operators_of(build_job(text).pipelines[0].root)
        assert isinstance(join, JoinNode)
        assert isinstance(waiting, RowsOverNode)
        assert isinstance(outer, JoinNode)
        self.tumbling, self.sliding = join.windows
        self.outer = outer.windows[0]
        self.lags = (waiting.input.delay, outer.left.delay)
        panes = tuple(
            OtherSideWindows(w.size, w.slide, w.offset) for w in (self.sliding, self.tumbling)
        )
        bounds = (join.bounds.lower, join.bounds.upper)
        self.first = Operator(lambda: _join(*bounds, panes), rng)  # type: ignore[arg-type]
        spec = OverAggregateSpec(("d0",), ("l0", "r0", "lk", "lt"), 0)
        self.final = Operator(lambda: OverAggregate(spec), rng)
        self.second = Operator(lambda: _join(0, 0, None), rng)

    def step(self, rows: Rows, marks: dict[str, int]) -> Iterator[tuple[object, ...]]:
        def frame(name: str, window: Window, one: str) -> pl.DataFrame:
            found = [(n, k, stand(window, t), k) for of, n, k, t in rows if of == name]
            schema = {f"{one}0": INT, f"{one}k": INT, "_t": INT, "_h": INT}
            return pl.DataFrame(found, schema, orient="row")

        left = frame("a", self.tumbling, "l").with_columns(lt="_t")
        made = self.first.step([left, frame("b", self.sliding, "r")], min(marks["a"], marks["b"]))
        pairs = pl.concat(made) if made else pl.DataFrame()
        if pairs.height:
            pairs = pairs.with_columns(d0=pl.col("lk"), _t=pl.col("lt"), _h=pl.col("lk"))
        closed = self.final.step([pairs], behind(self.first.watermark, self.lags[0]))
        shut = pl.concat(closed) if closed else pl.DataFrame()
        if shut.height:
            shut = shut.with_columns(
                l0=pl.col("l0") * 1000 + pl.col("r0").fill_null(NONE),
                _t=pl.col("lt").map_elements(lambda t: stand(self.outer, t), INT),
                _h=pl.col("lk"),
            )
        after = min(behind(self.final.watermark, self.lags[1]), marks["c"])
        for out in self.second.step([shut, frame("c", self.outer, "r")], after):
            yield from out.select("l0", "r0").rows()

    def expected(self, rows: Rows) -> Iterator[tuple[object, ...]]:
        """By the definition, of rows of which none is late."""
        for a, key, t in ((n, k, t) for of, n, k, t in rows if of == "a"):
            at = stand(self.outer, stand(self.tumbling, t))
            of_c: list[int | None] = [
                n for of, n, k, u in rows if (of, k) == ("c", key) and stand(self.outer, u) == at
            ]
            of_b = [n for of, n, k, u in rows if (of, k) == ("b", key) and self._overlap(t, u)]
            for b in of_b or [NONE]:
                yield from ((a * 1000 + b, c) for c in of_c or _NOBODY)

    def _overlap(self, t: int, u: int) -> bool:
        end, until = stand(self.tumbling, t) + 1, stand(self.sliding, u) + 1
        begin = until - 2 * self.sliding.size + self.sliding.slide
        return begin < end and end - self.tumbling.size < until


def _join(
    lower: int, upper: int, panes: tuple[OtherSideWindows, OtherSideWindows] | None
) -> IntervalJoin:
    spec = IntervalJoinSpec(
        JoinType.LEFT,
        lower,
        upper,
        ("lk",),
        ("rk",),
        ("l0", "lk", "lt"),
        ("r0",),
        other_windows=panes,
    )
    return IntervalJoin(spec, dict.fromkeys(("l0", "lk", "lt", "r0"), INT))


def run(chain: Chain, rows: Rows, cuts: Sequence[int]) -> Counter[tuple[object, ...]]:
    tops = dict.fromkeys("abc", BEGIN_OF_TIME)
    out: Counter[tuple[object, ...]] = Counter()
    batches = [rows[x:y] for x, y in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    for batch in batches:
        for name, _, _, t in batch:
            tops[name] = max(tops[name], t)
        marks = {name: max(top - chain.delay * SECOND, BEGIN_OF_TIME) for name, top in tops.items()}
        out.update(chain.step(batch, marks))
        # Results of an operator are on time for the next one, whatever was late before.
        assert chain.final.counts["input.late"] == chain.second.counts["left.late"] == 0
    out.update(chain.step([], dict.fromkeys("abc", END_OF_TIME)))
    return out


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("delay", [0, 3, 40], ids=["late", "some late", "on time"])
def test_pairs_of_closed_windows_in_a_tumbling_join(seed: int, delay: int) -> None:
    rng = random.Random(f"{seed} {delay}")
    many = rng.randint(1, 40)
    rows = [
        (rng.choice("abc"), n, rng.randrange(2), (100 + n + rng.randint(-8, 3)) * SECOND)
        for n in range(many)
    ]
    chain = Chain(rng, delay)
    out = run(chain, rows, sorted(rng.randint(0, many) for _ in range(rng.randint(0, 6))))
    if delay == 40:
        assert out == Counter(chain.expected(rows))
