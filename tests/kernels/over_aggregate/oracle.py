"""Aggregates over the last rows as a definition: every frame is looked at row by row."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.kernels.single_input import Key, Row

from millstream.kernels.core.kernel import WatermarkAdvance

Function = Callable[[Sequence[Row]], object]


def xs(rows: Sequence[Row]) -> list[int]:
    return [row.x for row in rows if row.x is not None]


def ys(rows: Sequence[Row]) -> list[float]:
    return [row.y for row in rows if row.y is not None]


def _nan_last(number: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(number) else (False, number)


def _var_pop(rows: Sequence[Row]) -> float | None:
    """Of what is not finite: NaN."""
    if not ys(rows):
        return None
    finite = all(math.isfinite(y) for y in ys(rows))
    return statistics.pvariance(ys(rows)) if finite else math.nan


FUNCTIONS: dict[str, Function] = {
    "count(*)": len,
    "count(x)": lambda rows: len(xs(rows)),
    "sum(x)": lambda rows: sum(xs(rows)) if xs(rows) else None,
    "sum(y)": lambda rows: sum(ys(rows)) if ys(rows) else None,
    "avg(x)": lambda rows: statistics.fmean(xs(rows)) if xs(rows) else None,
    "min(y)": lambda rows: min(ys(rows), key=_nan_last, default=None),
    "max(y)": lambda rows: max(ys(rows), key=_nan_last, default=None),
    "first(x)": lambda rows: next(iter(xs(rows)), None),
    "last(x)": lambda rows: next(reversed(xs(rows)), None),
    "last(x) respecting nulls": lambda rows: rows[-1].x,
    "avg(y)": lambda rows: sum(ys(rows)) / len(ys(rows)) if ys(rows) else None,
    "min(x)": lambda rows: min(xs(rows), default=None),
    "max(x)": lambda rows: max(xs(rows), default=None),
    "var_pop(y)": _var_pop,
    "stddev_samp(x)": lambda rows: statistics.stdev(xs(rows)) if len(xs(rows)) > 1 else None,
    "var_pop(x)": lambda rows: statistics.pvariance(xs(rows)) if xs(rows) else None,
    "count_distinct(x)": lambda rows: len(set(xs(rows))),
    "count_distinct(y)": lambda rows: len({_nan_last(y) for y in ys(rows)}),
    "collect_list(x)": xs,
}


@dataclass
class Oracle:
    preceding: int | None
    names: Sequence[str]
    ttl: int | None = None
    waiting: list[Row] = field(default_factory=list)
    before: dict[Key, list[Row]] = field(default_factory=lambda: defaultdict(list))
    late: int = 0

    def step(self, rows: Sequence[Row], advance: WatermarkAdvance) -> dict[int, list[object]]:
        """By the row's id, the values of its functions."""
        self.late += sum(row.t < advance.before for row in rows)
        self.waiting += [row for row in rows if row.t >= advance.before]
        ready = sorted(
            [row for row in self.waiting if row.t < advance.after], key=lambda row: row.t
        )
        self.waiting = [row for row in self.waiting if row.t >= advance.after]
        return {row.id: self._values(row) for row in ready}

    def _values(self, row: Row) -> list[object]:
        partition = self.before[row.key]
        if partition and self.ttl is not None and row.t - partition[-1].t > self.ttl:
            partition.clear()
        partition.append(row)
        frame = partition if self.preceding is None else partition[-self.preceding - 1 :]
        return [FUNCTIONS[name](frame) for name in self.names]

    def stored(self, advance: WatermarkAdvance) -> int:
        """Rows that wait, and rows that a later one's frame may reach."""
        retained = 0
        for rows in self.before.values():
            if rows and (self.ttl is None or advance.after <= rows[-1].t + self.ttl):
                retained += len(rows) if self.preceding is None else min(len(rows), self.preceding)
        return len(self.waiting) + retained


def same(one: object, two: object) -> bool:
    if isinstance(one, float) and isinstance(two, float | int):
        return (math.isnan(one) and math.isnan(two)) or math.isclose(one, two, abs_tol=1e-9)
    return one == two
