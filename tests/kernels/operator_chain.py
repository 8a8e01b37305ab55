"""Operators in a chain, in memory: key groups, batches in chunks, restarts and retries."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from millstream.kernels.core.kernel import HASH, Kernel, WatermarkAdvance
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import BEGIN_OF_TIME

ROUNDS = 30
Fold = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass
class Operator:
    """A kernel in key groups, with one watermark."""

    make: Callable[[], Kernel]
    rng: random.Random
    groups: int = 3
    fold: Fold | None = None
    states: list[MemoryState] = field(init=False)
    watermark: int = BEGIN_OF_TIME
    counts: Counter[str] = field(default_factory=Counter)  # since the begin, over all groups

    def __post_init__(self) -> None:
        self.states = [MemoryState() for _ in range(self.groups)]

    def step(self, inputs: Sequence[pl.DataFrame], after: int) -> list[pl.DataFrame]:
        advance = WatermarkAdvance(self.watermark, max(self.watermark, after))
        self.watermark = advance.after
        self.counts = Counter()
        out = []
        for group in range(self.groups):
            mine = {n: self._of(frame, group) for n, frame in enumerate(inputs) if frame.height}
            while True:
                state = self.states[group].copy()
                if self.rng.random() < 0.2:
                    cache.clear_cache()
                made = self.make().step(state, mine, advance)
                if self.rng.random() < 0.8:  # else the batch fails and runs again
                    break
                cache.clear_cache()
            self.states[group] = state
            self.counts.update(made.counts)
            out += [frame for frame in made.main if frame.height]
        self.rng.shuffle(out)
        return out

    def _of(self, frame: pl.DataFrame, group: int) -> pl.DataFrame:
        chunks = []
        cuts = sorted(self.rng.randint(0, frame.height) for _ in range(self.rng.randint(0, 2)))
        for first, last in zip([0, *cuts], [*cuts, frame.height], strict=True):
            chunk = frame[first:last]
            if chunk.height:
                chunk = chunk if self.fold is None else self.fold(chunk)
                chunks.append(chunk.filter(pl.col(HASH) % self.groups == group))
        return pl.concat(chunks)


def cut(rng: random.Random, rows: pl.DataFrame) -> list[pl.DataFrame]:
    ends = sorted(rng.randint(0, rows.height) for _ in range(rng.randint(0, 6)))
    return [rows[a:b] for a, b in zip([0, *ends], [*ends, rows.height], strict=True)]
