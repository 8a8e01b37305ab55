"""The first n rows of each partition as a definition: sort everything anew after every batch."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.kernels.single_input import Row

from millstream.kernels.core.kernel import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    WatermarkAdvance,
)
from millstream.kernels.core.specs import TopNSpec
from millstream.temporal import Emit

Values = tuple[object, ...]
Out = Counter[
    tuple[object, ...]
]  # columns, then the rank if requested for, then the operation if any


def value_of(row: Row, column: str) -> object:
    named = {"k1": row.key[0], "k2": row.key[1], "id": row.id, "x": row.x, "y": row.y}
    return {**named, "due": row.due}[column]


def sortable(value: object, descending: bool = False, nulls_first: bool = False) -> Values:
    """Where NULL is sorted, then where NaN is (above all numbers), then the value."""
    if value is None:
        return (-1 if nulls_first else 1, 0, 0)
    if isinstance(value, str):
        return (0, 0, value.encode())
    assert isinstance(value, int | float)
    sign = -1 if descending else 1
    return (0, sign, 0) if math.isnan(value) else (0, 0, sign * value)


@dataclass
class Oracle:
    spec: TopNSpec
    rows: dict[Values, list[tuple[int, Row]]] = field(default_factory=lambda: defaultdict(list))
    last: dict[Values, int] = field(default_factory=dict)  # the time of a partition's last row
    batch: int = 0
    late: int = 0

    def step(self, rows: Iterable[Row], advance: WatermarkAdvance) -> Out:
        self.batch += 1
        in_time = [row for row in rows if self.spec.due is None or row.due > advance.before]
        self.late += sum(1 for _ in rows) - len(in_time)
        old = {key: self.top(key) for key in self.rows}
        for row in sorted(in_time, key=lambda row: row.op in (UPDATE_BEFORE, DELETE)):
            self._take_in(row)
        out: Out = Counter()
        if self.spec.emit is Emit.CHANGES:
            for key in self.rows:
                out.update(self._changes(old.get(key, []), self.top(key)))
        for key in self._ended(advance):
            if self.spec.emit is Emit.FINAL:
                out.update(self._final(self.top(key)))
            del self.rows[key], self.last[key]
        return out

    def _take_in(self, row: Row) -> None:
        key = self._values(row, self.spec.partition)
        self.last[key] = max(row.t, self.last.get(key, row.t))
        stored = self.rows[key]
        if row.op not in (UPDATE_BEFORE, DELETE):
            stored.append((self.batch, row))
            return
        alike = [item for item in stored if self._content(item[1]) == self._content(row)]
        if alike:
            stored.remove(alike[-1])

    def _ended(self, advance: WatermarkAdvance) -> list[Values]:
        if self.spec.due is not None:
            return [
                k for k, rows in self.rows.items() if not rows or rows[0][1].due <= advance.after
            ]
        if self.spec.ttl is None:
            return []
        return [key for key, time in self.last.items() if advance.after > time + self.spec.ttl]

    def top(self, key: Values) -> list[Values]:
        """The first n rows of a partition, as they are emitted."""
        ordered = sorted(self.rows.get(key, []), key=self._place)
        return [self._values(row, self.spec.columns) for _, row in ordered[: self.spec.n]]

    def tables(self) -> Out:
        """All that is valid."""
        return Counter(row for key in self.rows for row in self._final(self.top(key)).elements())

    def _final(self, top: list[Values]) -> Out:
        if self.spec.rank is None:
            return Counter(top)
        return Counter((*row, rank) for rank, row in enumerate(top, 1))

    def _changes(self, old: list[Values], new: list[Values]) -> Out:
        if self.spec.rank is None:
            gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
            return Counter(
                [(*row, DELETE) for row in gone.elements()]
                + [(*row, INSERT) for row in come.elements()]
            )
        out: Out = Counter()
        for rank in range(1, max(len(old), len(new)) + 1):
            before, after = old[rank - 1 : rank], new[rank - 1 : rank]
            if before and after and before != after:
                out.update([(*before[0], rank, UPDATE_BEFORE), (*after[0], rank, UPDATE_AFTER)])
            elif before and not after:
                out[*before[0], rank, DELETE] += 1
            elif after and not before:
                out[*after[0], rank, INSERT] += 1
        return out

    def _place(self, item: tuple[int, Row]) -> tuple[object, ...]:
        batch, row = item
        terms = [
            sortable(value_of(row, term.column), term.descending, term.nulls_first)
            for term in self.spec.order
        ]
        return (*terms, batch, *(sortable(value_of(row, name)) for name in self.spec.columns))

    def _content(self, row: Row) -> Values:
        names = (*self.spec.partition, *self.spec.columns, *(o.column for o in self.spec.order))
        values = self._values(row, names)
        return tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in values)

    @staticmethod
    def _values(row: Row, names: Iterable[str]) -> Values:
        return tuple(value_of(row, name) for name in names)
