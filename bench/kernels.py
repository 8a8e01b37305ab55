"""Times of one step of the interval join, apart from Spark.

    PYTHONPATH=src python bench/kernels.py [case …]        cases: bulk groups growth small idle hot

Data as in a shop: orders, and shipments of nine in ten of them within a minute, both sides in the
order of their time. Every figure is the median over the steps after a warm-up.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.interval_join.kernel import IntervalJoin, IntervalJoinSpec
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import BEGIN_OF_TIME
from millstream.values import JoinType

MINUTE = 60_000_000
Batch = tuple[pl.DataFrame, pl.DataFrame]


@dataclass(frozen=True)
class Shop:
    """`rate` orders a second of event time; `within` how long a shipment may take."""

    batch: int
    batches: int
    rate: int = 10_000
    within: int = MINUTE
    text_keys: bool = False
    customers: int | None = None  # join by customer, not by order: so many keys

    def arrivals(self) -> Iterator[Batch]:
        rng = np.random.default_rng(1)
        gap, count = 1_000_000 // self.rate, self.batch * self.batches
        ids = np.arange(count)
        ordered = 1_768_000_000_000_000 + ids * gap
        shipped = ordered + rng.integers(0, self.within, count)
        order = np.argsort(shipped, kind="stable")
        order = order[rng.random(count)[order] < 0.9]
        keys = ids if self.customers is None else rng.integers(0, self.customers, count)
        orders = self._frame("o", keys, ids, ordered, rng)
        shipments = self._frame("s", keys[order], ids[order], shipped[order], rng)
        for number in range(self.batches):
            start, stop = number * self.batch, (number + 1) * self.batch
            from_time, to_time = ordered[start], ordered[stop - 1]
            window = pl.col("_t").is_between(from_time, to_time)
            yield orders.slice(start, self.batch), shipments.filter(window)

    def _frame(
        self,
        side: str,
        keys: np.ndarray,
        ids: np.ndarray,
        times: np.ndarray,
        rng: np.random.Generator,
    ) -> pl.DataFrame:
        columns = {
            "_t": times,
            f"{side}_key": [f"order-{key:012d}" for key in keys] if self.text_keys else keys,
            f"{side}_id": ids,
            f"{side}_amount": rng.random(len(ids)),
            f"{side}_carrier": np.array(["UPS", "DHL", "FedEx"])[rng.integers(0, 3, len(ids))],
        }
        frame = pl.DataFrame(columns)
        fill_null_hashes = (
            frame[f"{side}_key"].hash(7).reinterpret(signed=True) if self.text_keys else keys
        )
        return frame.with_columns(pl.Series("_h", fill_null_hashes))


def join_of(how: JoinType, shop: Shop) -> IntervalJoin:
    rest = ("id", "amount", "carrier")
    return IntervalJoin(
        IntervalJoinSpec(
            how, 0, shop.within, ("o_key",), ("s_key",),
            ("o_key", *(f"o_{name}" for name in rest)), tuple(f"s_{name}" for name in rest),
            key_is_hash=not shop.text_keys,
        )
    )  # fmt: skip


@dataclass
class Figures:
    step: float
    quick: float  # the step that a tenth of all are quicker than: a busy machine disturbs it less
    rows: int
    state_rows: int
    segments: int
    calls: float
    out: int


def part_of(frame: pl.DataFrame, group: int, groups: int) -> pl.DataFrame:
    return frame if groups == 1 else frame.filter(pl.col("_h") % groups == group)


def run(
    how: JoinType, shop: Shop, groups: int = 1, warm: int = 3, delay: int = 5_000_000
) -> Figures:
    join, states = join_of(how, shop), [MemoryState() for _ in range(groups)]
    times, calls, counts, out, before = [], 0, {}, 0, BEGIN_OF_TIME
    for number, (left, right) in enumerate(shop.arrivals()):
        after = int(left["_t"].max()) - delay  # type: ignore[arg-type]
        parts = [{0: part_of(left, n, groups), 1: part_of(right, n, groups)} for n in range(groups)]
        made = sum(sum(state.calls.values()) for state in states)
        started = time.perf_counter()
        results = [
            join.step(state, part, WatermarkAdvance(before, after))
            for state, part in zip(states, parts, strict=True)
        ]
        took = time.perf_counter() - started
        if number >= warm:
            times.append(took)
            calls += sum(sum(state.calls.values()) for state in states) - made
            out += sum(frame.height for result in results for frame in result.main)
        counts = {
            name: sum(result.counts[name] for result in results) for name in results[0].counts
        }
        before = after
    return Figures(
        step=statistics.median(times),
        quick=sorted(times)[len(times) // 10],
        rows=shop.batch,
        state_rows=counts["state_rows"],
        segments=counts["segments"],
        calls=calls / len(times) / groups,
        out=out // len(times),
    )


def show(title: str, figures: Figures) -> None:
    rate = figures.rows * 1.9 / figures.step / 1e6
    print(
        f"{title:50s} {figures.step * 1e3:8.2f} ms (quick {figures.quick * 1e3:7.2f})"
        f" {rate:6.2f} M rows/s  state {figures.state_rows:>9,} in {figures.segments:>3} segments"
        f"  calls {figures.calls:4.1f}  out {figures.out:,}",
        flush=True,
    )
    cache.clear_cache()


def bulk() -> None:
    for how in (JoinType.INNER, JoinType.LEFT, JoinType.FULL):
        show(f"475 k rows a side, {how}, integer key", run(how, Shop(475_000, 6)))
    show("475 k rows a side, left, text key", run(JoinType.LEFT, Shop(475_000, 6, text_keys=True)))


def groups() -> None:
    for count in (1, 4, 16):
        show(
            f"475 k rows a side, left, {count} groups", run(JoinType.LEFT, Shop(475_000, 6), count)
        )


def growth() -> None:
    for times in (1, 10):
        shop = Shop(50_000, 5 + 12 * times, within=times * MINUTE // 2)
        show(
            f"50 k rows a side, left, bound of {times * 30} s",
            run(JoinType.LEFT, shop, warm=12 * times),
        )


def small() -> None:
    for how in (JoinType.INNER, JoinType.LEFT, JoinType.FULL):
        shop = Shop(500, 400, rate=800)
        show(f"500 rows a side, {how}, bound of 60 s", run(how, shop, warm=200))
    shop = Shop(500, 400, rate=800, text_keys=True)
    show("500 rows a side, left, text key", run(JoinType.LEFT, shop, warm=200))


def idle() -> None:
    shop = Shop(500, 200, rate=800)
    join, state, before = join_of(JoinType.LEFT, shop), MemoryState(), BEGIN_OF_TIME
    for left, right in shop.arrivals():
        after = int(left["_t"].max())  # type: ignore[arg-type]
        join.step(state, {0: left, 1: right}, WatermarkAdvance(before, after))
        before = after
    started = time.perf_counter()
    for _ in range(100):
        join.step(state, {}, WatermarkAdvance(before, before))
    print(f"no rows, watermark unmoved: {(time.perf_counter() - started) * 10:.3f} ms")


def hot() -> None:
    """A tenth of a batch for each key, so the bound must narrow the search, not the key."""
    shop = Shop(100_000, 6, within=10_000, customers=10)
    show("100 k rows a side, left, 10 keys, bound of 10 ms", run(JoinType.LEFT, shop))


CASES: dict[str, Callable[[], None]] = {
    "bulk": bulk, "groups": groups, "growth": growth, "small": small, "idle": idle, "hot": hot,
}  # fmt: skip

if __name__ == "__main__":
    print(f"polars threads: {pl.thread_pool_size()}")
    for name in sys.argv[1:] or CASES:
        CASES[name]()
