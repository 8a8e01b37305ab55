"""Aggregates by definition, in plain Python: all rows are stored, every result is computed from
rows.

Retractions have the op UPDATE_BEFORE or DELETE and weight -1. The rows of a group are a bag: the
inserted rows without the retracted ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from millstream.kernels.core.kernel import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    WatermarkAdvance,
)
from millstream.kernels.core.specs import AggregateSpec, CallSpec
from millstream.temporal import Emit, LateAction, WindowKind

Key = tuple[object, ...]
Span = tuple[int, int] | None  # start and end of a window; None: no window
Out = tuple[int, Key, Span, tuple[object, ...]]  # op, key, window, values


@dataclass(frozen=True)
class Row:
    id: int  # in the order of arrival
    t: int
    key: Key
    x: int | None = None
    y: float | None = None
    s: str | None = None
    b: bool | None = None
    d: Decimal | None = None
    op: int = INSERT
    span: tuple[int, int] = (0, 10)  # of rows that come with their window

    @property
    def weight(self) -> int:
        return -1 if self.op in {UPDATE_BEFORE, DELETE} else 1


def weigh(rows: Iterable[Row]) -> int:
    return sum(row.weight for row in rows)


# --- functions


def value_of(call: CallSpec, rows: list[Row]) -> Any:
    """What a function gives for the rows of a group."""
    left = _left(rows)
    if call.filter is not None:
        left = [row for row in left if getattr(row, call.filter)]
    if call.argument is None:
        return len(left)
    values = [getattr(row, call.argument) for row in left]
    some = [value for value in values if value is not None]
    if call.function in {"first", "last", "max_by", "min_by"}:
        return _picked(call, left)
    if call.function in _OF_NOTHING and not some:
        return None
    if call.function == "approx_percentile":
        at = max(math.ceil(call.parameters[0] * len(some)) - 1, 0)
        return sorted(some, key=_order)[at]
    simple = _SIMPLE.get(call.function)
    return simple(some) if simple is not None else _spread(call.function, some)


def _left(rows: list[Row]) -> list[Row]:
    """Rows that were not retracted."""
    left: list[Row] = []
    for row in rows:
        if row.weight > 0:
            left.append(row)
        else:
            twin = next((one for one in left if _content(one) == _content(row)), None)
            if twin is not None:
                left.remove(twin)
    return left


def _content(row: Row) -> tuple[object, ...]:
    return tuple(_plain(value) for value in (row.x, row.y, row.s, row.b, row.d))


def _average(values: list[Any]) -> Any:
    if not isinstance(values[0], Decimal):
        return float(sum(values)) / len(values)
    exact = sum(values) / Decimal(len(values))
    return exact.quantize(Decimal("0.000001"), ROUND_HALF_UP)


def _picked(call: CallSpec, rows: list[Row]) -> Any:
    """The value at an end of the order by time, or by another column; then by time and arrival."""
    if call.by is not None:
        rows = [row for row in rows if getattr(row, call.by) is not None]
    elif call.ignore_nulls:
        rows = [row for row in rows if getattr(row, str(call.argument)) is not None]
    by = {row.id: _order(row.t if call.by is None else getattr(row, call.by)) for row in rows}
    rows = sorted(rows, key=lambda row: row.id)
    if not rows:
        return None
    match call.function:
        case "first":
            found = min(rows, key=lambda row: by[row.id])
        case _:
            end = (min if call.function == "min_by" else max)(by.values())
            equal = [row for row in rows if by[row.id] == end]
            found = max(equal, key=lambda row: (row.t, row.id))
    return getattr(found, str(call.argument))


def _spread(function: str, values: list[Any]) -> float | None:
    less = 1 if function.endswith("samp") else 0
    if len(values) <= less:
        return None
    if any(not math.isfinite(value) for value in values):
        return math.nan
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - less)
    return math.sqrt(variance) if function.startswith("stddev") else float(variance)


def _order(value: Any) -> tuple[bool, Any]:
    """NaN is greater than every number."""
    odd = isinstance(value, float) and math.isnan(value)
    return (odd, 0.0 if odd else value)


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "NaN" if math.isnan(value) else value + 0.0


# Functions that give NULL for no values.
_OF_NOTHING = {"sum", "avg", "min", "max", "bool_and", "bool_or", "approx_percentile"}
_SIMPLE: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": sum,
    "avg": _average,
    "min": lambda values: min(values, key=_order),
    "max": lambda values: max(values, key=_order),
    "bool_and": all,
    "bool_or": any,
    "count_distinct": lambda values: len({_plain(value) for value in values}),
    "approx_count_distinct": lambda values: len({_plain(value) for value in values}),
    "collect_list": lambda values: sorted((_plain(value) for value in values), key=str),
    "collect_set": lambda values: sorted({_plain(value) for value in values}, key=str),
}


# --- windows


def windows_of(spec: AggregateSpec, row: Row) -> list[Span]:
    window = spec.window
    if window is None:
        return [None]
    if window.kind is WindowKind.INHERITED:
        return [row.span]
    slide = window.slide if window.kind is WindowKind.SLIDING else window.size
    last = row.t - (row.t - window.offset) % slide
    starts = range(last, row.t - window.size, -slide)
    return [(start, start + window.size) for start in starts]


@dataclass
class Group:
    key: Key
    span: Span
    rows: list[Row] = field(default_factory=list)
    out: tuple[object, ...] | None = None  # the result that has are emitted and stands


@dataclass
class Stepwise:
    """What is emitted of each batch, for all windows but sessions."""

    spec: AggregateSpec
    groups: dict[tuple[Key, Span], Group] = field(default_factory=dict)
    late: list[Row] = field(default_factory=list)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("accepted", "late", "reassigned"), 0)
    )

    def step(self, rows: list[Row], advance: WatermarkAdvance) -> list[Out]:
        touched: dict[tuple[Key, Span], Group] = {}
        self.late = []
        for row in rows:
            mine = self._in_time(row, advance)
            if mine is None:
                continue
            self.counts["accepted"] += 1
            for span in windows_of(self.spec, mine):
                if self._open(span, advance.before):
                    group = self.groups.setdefault((row.key, span), Group(row.key, span))
                    group.rows.append(mine)
                    touched[row.key, span] = group
        out = [one for group in touched.values() for one in self._changes(group, advance)]
        if self.spec.emit is Emit.FINAL:
            for place, group in self.groups.items():
                if place not in touched:
                    out += self._fired(group, advance)
        self.groups = {
            place: group
            for place, group in self.groups.items()
            if self._kept(group, advance.after)
            and (weigh(group.rows) or not self.spec.over_changes)
        }
        return out

    def stored(self) -> int:
        """Rows of which at least one window is open; those of sliding windows are in the last."""
        return len({row.id for group in self.groups.values() for row in group.rows})

    def _in_time(self, row: Row, advance: WatermarkAdvance) -> Row | None:
        if any(self._open(span, advance.before) for span in windows_of(self.spec, row)):
            return row
        policy, lateness = self.spec.late, advance.before - row.t
        fits = lateness <= policy.budget and not self.spec.given
        if policy.action is LateAction.REASSIGN and fits:
            self.counts["reassigned"] += 1
            return replace(row, t=advance.before)
        self.late.append(row)
        self.counts["late"] += 1
        return None

    def _open(self, span: Span, watermark: int) -> bool:
        return span is None or span[1] + self.spec.lateness > watermark

    def _kept(self, group: Group, watermark: int) -> bool:
        if group.span is not None:
            return self._open(group.span, watermark)
        last = max(row.t for row in group.rows)
        return self.spec.ttl is None or watermark <= last + self.spec.ttl

    def _changes(self, group: Group, advance: WatermarkAdvance) -> Iterator[Out]:
        if self.spec.emit is Emit.FINAL and group.out is None:
            yield from self._fired(group, advance)
            return
        yield from difference(self.spec, group)

    def _fired(self, group: Group, advance: WatermarkAdvance) -> Iterator[Out]:
        assert group.span is not None
        if group.out is None and group.span[1] <= advance.after:
            yield from difference(self.spec, group)


def values_of(spec: AggregateSpec, rows: list[Row]) -> tuple[object, ...] | None:
    """A row of results, or None if no rows are left."""
    if weigh(rows) <= 0:
        return None
    return tuple(value_of(call, rows) for call in spec.calls)


def difference(spec: AggregateSpec, group: Group) -> Iterator[Out]:
    """From the result that stands to the one that rows give now."""
    old, new = group.out, values_of(spec, group.rows)
    group.out = new
    if old is None and new is not None:
        yield INSERT, group.key, group.span, new
    elif old is not None and new is None:
        yield DELETE, group.key, group.span, old
    elif old is not None and new is not None:
        same = repr(old) == repr(new) and spec.emit is Emit.CHANGES
        if not same:
            yield UPDATE_BEFORE, group.key, group.span, old
            yield UPDATE_AFTER, group.key, group.span, new


@dataclass
class SessionStepwise(Stepwise):
    """Sessions: a list of groups, each with its rows; a row joins all that it overlaps or touches.
    A row at a session's end still extends it, so the session is open until time is past its end."""

    sessions: list[Group] = field(default_factory=list)

    def _open(self, span: Span, watermark: int) -> bool:
        return span is None or span[1] + self.spec.lateness >= watermark

    def _fired(self, group: Group, advance: WatermarkAdvance) -> Iterator[Out]:
        assert group.span is not None
        if group.out is None and group.span[1] < advance.after:
            yield from difference(self.spec, group)

    @property
    def gap(self) -> int:
        assert self.spec.window is not None
        return self.spec.window.size

    def step(self, rows: list[Row], advance: WatermarkAdvance) -> list[Out]:
        self.late = []
        chains = self._chains(rows)
        closed = [
            chain
            for chain in chains
            if not any(isinstance(part, Group) for part in chain)
            and not self._open((0, self._end(chain)), advance.before)
        ]
        late_ids = {part.id for chain in closed for part in chain if isinstance(part, Row)}
        accepted = []
        for row in rows:
            mine = self._pardoned(row, advance) if row.id in late_ids else row
            if mine is not None:
                self.counts["accepted"] += 1
                accepted.append(mine)
        out: list[Out] = []
        untouched = []
        for chain in self._chains(accepted):
            if len(chain) == 1 and isinstance(chain[0], Group):
                untouched.append(chain[0])
                if self.spec.emit is Emit.FINAL:
                    out += self._fired(chain[0], advance)
            else:
                out += self._merge(chain, advance, untouched)
        self.sessions = [
            one
            for one in untouched
            if self._kept(one, advance.after) and (weigh(one.rows) or not self.spec.over_changes)
        ]
        return out

    def stored(self) -> int:
        return sum(len(session.rows) for session in self.sessions)

    def _chains(self, rows: list[Row]) -> list[list[Row | Group]]:
        """Rows and sessions that overlap, also through others."""
        parts: list[Row | Group] = [*self.sessions, *rows]
        chains: list[list[Row | Group]] = []
        for part in sorted(parts, key=self._start):
            for chain in chains:
                if chain[0].key == part.key and self._start(part) <= self._end(chain):
                    chain.append(part)
                    break
            else:
                chains.append([part])
        return chains

    def _start(self, part: Row | Group) -> int:
        if isinstance(part, Row):
            return part.t
        assert part.span is not None
        return part.span[0]

    def _end(self, chain: list[Row | Group]) -> int:
        ends = [part.t + self.gap for part in chain if isinstance(part, Row)]
        ends += [part.span[1] for part in chain if isinstance(part, Group) and part.span]
        return max(ends)

    def _pardoned(self, row: Row, advance: WatermarkAdvance) -> Row | None:
        policy, lateness = self.spec.late, advance.before - row.t
        if policy.action is LateAction.REASSIGN and lateness <= policy.budget:
            self.counts["reassigned"] += 1
            return replace(row, t=advance.before)
        self.late.append(row)
        self.counts["late"] += 1
        return None

    def _merge(
        self, chain: list[Row | Group], advance: WatermarkAdvance, made: list[Group]
    ) -> Iterator[Out]:
        olds = [part for part in chain if isinstance(part, Group)]
        rows = [row for old in olds for row in old.rows]
        rows += sorted((part for part in chain if isinstance(part, Row)), key=lambda row: row.id)
        span = (min(self._start(part) for part in chain), self._end(chain))
        new = Group(chain[0].key, span, rows)
        made.append(new)
        for old in olds:
            if old.span == span:
                new.out = old.out
            elif old.out is not None:
                yield DELETE, old.key, old.span, old.out
        yield from self._changes(new, advance)


def final_table(out: Iterable[Out]) -> dict[tuple[Key, Span], tuple[object, ...]]:
    """What stands once every change was applied; each must fit what stood before it."""
    table: dict[tuple[Key, Span], tuple[object, ...]] = {}
    for op, key, span, values in out:
        place = (key, span)
        if op in {UPDATE_BEFORE, DELETE}:
            assert repr(table.pop(place)) == repr(values)
        else:
            assert place not in table
            table[place] = values
    return table
