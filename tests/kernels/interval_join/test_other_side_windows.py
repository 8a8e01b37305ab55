"""Tumbling × sliding joins: an unmatched row is emitted once its last overlapping window of the
other side has closed, and matches no row that arrives later."""

from __future__ import annotations

import random
from dataclasses import dataclass

import polars as pl
import pytest

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.interval_join.kernel import IntervalJoin, IntervalJoinSpec
from millstream.kernels.interval_join.spec import OtherSideWindows
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.plan.kinds.window_pairs import pair_windows
from millstream.temporal import BEGIN_OF_TIME, Window, WindowKind
from millstream.values import JoinType

END = 10_000


@dataclass(frozen=True)
class Row:
    id: int
    t: int


Batch = tuple[list[Row], list[Row]]
Out = list[set[tuple[int | None, int | None]]]


@dataclass(frozen=True)
class Job:
    """Left rows are in the window `left`, right rows in `right`; one of them slides."""

    left: Window
    right: Window
    lateness: int = 0

    def starts(self, window: Window, t: int) -> list[int]:
        last = t - (t - window.offset) % window.slide
        return [last - n * window.slide for n in range(window.size // window.slide)]

    def overlapping(self, row: Row, own: Window, other: Window) -> int:
        """The start of the last window of the other side that overlaps one of the row's."""
        end = max(self.starts(own, row.t)) + own.size
        return max(start for start in range(end - other.slide, end)
                   if (start - other.offset) % other.slide == 0)  # fmt: skip

    def pairs(self, one: Row, other: Row) -> bool:
        return any(
            a < b + self.right.size and b < a + self.left.size
            for a in self.starts(self.left, one.t)
            for b in self.starts(self.right, other.t)
        )


def watermarks(batches: list[Batch]) -> list[tuple[int, int]]:
    tops, marks, mark = [BEGIN_OF_TIME, BEGIN_OF_TIME], [], BEGIN_OF_TIME
    for number, batch in enumerate(batches):
        for side, rows in enumerate(batch):
            tops[side] = max([tops[side], *(row.t for row in rows)])
        after = END if number == len(batches) - 1 else max(mark, min(tops))
        marks.append((mark, after))
        mark = after
    return marks


def expected(job: Job, batches: list[Batch]) -> Out:
    """By the definition, row by row."""
    windows = (job.left, job.right)
    arrived: list[list[tuple[int, Row, int]]] = [[], []]  # step, row, when it is due
    out: Out = [set() for _ in batches]
    marks = watermarks(batches)
    for step, batch in enumerate(batches):
        for side, rows in enumerate(batch):
            own, other = windows[side], windows[1 - side]
            for row in rows:
                if max(job.starts(own, row.t)) + own.size + job.lateness > marks[step][0]:
                    due = job.overlapping(row, own, other) + other.size + job.lateness
                    arrived[side].append((step, row, due))
    met: tuple[set[int], set[int]] = (set(), set())
    for i, one, one_due in arrived[0]:
        for j, other_row, other_due in arrived[1]:
            before = marks[max(i, j)][0]
            if job.pairs(one, other_row) and (i == j or before < (one_due if i < j else other_due)):
                out[max(i, j)].add((one.id, other_row.id))
                met[0].add(one.id)
                met[1].add(other_row.id)
    for side in (0, 1):
        for step, row, due in arrived[side]:
            if row.id not in met[side]:
                at = next(n for n in range(step, len(batches)) if marks[n][1] >= due)
                out[at].add((row.id, None) if side == 0 else (None, row.id))
    return out


def actual(job: Job, batches: list[Batch], rng: random.Random) -> Out:
    windows = (job.left, job.right)
    pair = pair_windows(*windows, JoinType.FULL, ("", ""), None)

    def panes(window: Window) -> OtherSideWindows:
        return OtherSideWindows(window.size, window.slide, window.offset, job.lateness)

    spec = IntervalJoinSpec(
        JoinType.FULL, pair.bounds.lower, pair.bounds.upper, ("lk",), ("rk",), ("l0",), ("r0",),
        other_windows=(panes(job.right), panes(job.left)),
    )  # fmt: skip
    kernel = IntervalJoin(spec, {"l0": pl.Int64, "r0": pl.Int64})
    state, out = MemoryState(), Out()
    for batch, (before, after) in zip(batches, watermarks(batches), strict=True):
        if rng.random() < 0.3:  # a restart
            cache.clear_cache()
            kernel = IntervalJoin(spec, {"l0": pl.Int64, "r0": pl.Int64})
        inputs = {}
        for side, rows in enumerate(batch):
            own, letter = windows[side], "lr"[side]
            stands = [max(job.starts(own, row.t)) + own.size - 1 + job.lateness for row in rows]
            inputs[side] = pl.DataFrame(
                {
                    f"{letter}0": pl.Series([row.id for row in rows], dtype=pl.Int64),
                    f"{letter}k": pl.Series([1] * len(rows), dtype=pl.Int64),
                    "_t": stands,
                    "_h": [7] * len(rows),
                },
                schema_overrides={"_t": pl.Int64, "_h": pl.Int64},
            )
        made = kernel.step(state, inputs, WatermarkAdvance(before, after))
        found = [tuple(row) for frame in made.main for row in frame.select("l0", "r0").rows()]
        assert len(found) == len(set(found))
        out.append(set(found))
    return out


@pytest.mark.parametrize("lateness", [0, 3])
@pytest.mark.parametrize("sliding", [0, 1], ids=["sliding left", "sliding right"])
def test_random_rows_equal_the_definition(sliding: int, lateness: int) -> None:
    rng = random.Random(f"{sliding} {lateness}")
    for _ in range(150):
        slide = rng.randint(1, 6)
        size = rng.randint(1, 12)
        windows = [
            Window(WindowKind.TUMBLING, size, size, rng.randrange(size)),
            Window(WindowKind.SLIDING, slide * rng.randint(2, 4), slide, rng.randrange(slide)),
        ]
        left, right = windows[::-1] if sliding == 0 else windows
        job = Job(left, right, lateness)
        advance, batches, number = 100, list[Batch](), 0
        for _ in range(rng.randint(2, 8)):
            advance += rng.randint(0, 12)
            sides: Batch = ([], [])
            for side in sides:
                for _ in range(rng.randint(0, 3)):
                    number += 1
                    side.append(Row(number, advance + rng.randint(-25, 6)))
            batches.append(sides)
        batches.append(([], []))
        assert actual(job, batches, rng) == expected(job, batches), (job, batches)


def test_an_unmatched_row_is_emitted_when_the_last_overlapping_window_closes() -> None:
    job = Job(Window(WindowKind.TUMBLING, 60, 60), Window(WindowKind.SLIDING, 20, 10))
    # The window [110, 130) is the last that overlaps [60, 120).
    batches: list[Batch] = [
        ([Row(1, 70)], []),
        ([Row(2, 129)], [Row(3, 149)]),
        ([Row(4, 130)], []),
        ([], []),
    ]
    out = actual(job, batches, random.Random(0))
    assert out[:3] == [set(), {(2, 3)}, {(4, 3), (1, None)}]
