"""Compares the state of all key groups of an operator with the operator's limit.

Key groups do not see each other, so the driver sums what they report after each batch:

    fail    the batch fails before its output files become visible; the next run retries it
    evict   the driver sends each key group an allowance: its part of the limit, in proportion to
            its state; the next batch reads it from the control stream and evicts the rest

With `evict`, state exceeds its limit by the rows of one batch at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millstream.engine.shuffle.control_stream import Allowance, send_allowances
from millstream.errors import Place, StateError
from millstream.observe.operator_names import names_of
from millstream.plan.facts.output_groups import query_operators
from millstream.plan.nodes import Query
from millstream.temporal import OnLimit, StateLimit

_WHAT = {"state_rows": "state.max_rows", "state_bytes": "state.max_bytes"}
Usage = dict[int, int]  # rows or bytes of state, by key group


@dataclass(frozen=True, slots=True)
class _LimitedOperator:
    """An operator with a limit."""

    number: int
    name: str
    limit: StateLimit
    place: Place | None

    def of(self, what: str) -> int | None:
        return self.limit.max_rows if what == "state_rows" else self.limit.max_bytes


@dataclass(slots=True)
class StateLimits:
    """The limits of one query's operators."""

    operators: tuple[_LimitedOperator, ...]
    control: Path
    _sent: dict[int, dict[str, int]] = field(default_factory=dict)  # usage when last sent

    @classmethod
    def of(cls, query: Query, control: Path) -> StateLimits:
        named = zip(query_operators(query), names_of(query), strict=True)
        return cls(
            tuple(
                _LimitedOperator(number, names.operator, operator.limit, operator.place)
                for number, (operator, names) in enumerate(named)
                if operator.limit.max_rows is not None or operator.limit.max_bytes is not None
            ),
            control,
        )

    @property
    def limited(self) -> bool:
        return bool(self.operators)

    def check(self, stats: Iterable[Mapping[str, Any]]) -> None:
        """Raises StateError if an operator with `fail` has more state than its limit."""
        stats = list(stats)
        for operator in self.operators:
            if operator.limit.on_limit is not OnLimit.FAIL:
                continue
            for what, name in _WHAT.items():
                limit, used = operator.of(what), sum(_usage(operator, what, stats).values())
                if limit is not None and used > limit:
                    unit = what.removeprefix("state_")
                    raise StateError(
                        "MS-STATE-LIMIT",
                        f"the {operator.name} has {used} {unit} of state; '{name}' is {limit}.",
                        fix=f"Raise '{name}' and run again: the batch is then retried. Or bound "
                        "the state by time, or set 'state.on_limit' = 'evict'.",
                        place=operator.place,
                    )

    def distribute(self, batch: int, stats: Iterable[Mapping[str, Any]]) -> None:
        """Sends allowances to operators with `evict` that have more state than their limit."""
        stats = list(stats)
        sent: list[Allowance] = []
        for operator in self.operators:
            if operator.limit.on_limit is OnLimit.EVICT:
                sent += self._allowances(operator, stats)
        if sent:
            send_allowances(self.control, batch, sent)

    def _allowances(
        self, operator: _LimitedOperator, stats: list[Mapping[str, Any]]
    ) -> Iterable[Allowance]:
        usage = {what: _usage(operator, what, stats) for what in _WHAT}
        totals = {what: sum(used.values()) for what, used in usage.items()}
        over = any(
            (limit := operator.of(what)) is not None and total > limit
            for what, total in totals.items()
        )
        if not over or len(usage["state_rows"]) < 2:
            self._sent.pop(operator.number, None)
            return []
        # An allowance that evicted nothing is not repeated: each message triggers a batch.
        known = {**totals, "evicted": _evicted(operator, stats)}
        if self._sent.get(operator.number) == known:
            return []
        self._sent[operator.number] = known
        rows = shares(usage["state_rows"], operator.limit.max_rows)
        size = shares(usage["state_bytes"], operator.limit.max_bytes)
        return [Allowance(operator.number, label, rows[label], size[label]) for label in rows]


def _usage(operator: _LimitedOperator, what: str, stats: Iterable[Mapping[str, Any]]) -> Usage:
    return {
        each["group"]: each["counts"].get(what, 0)
        for each in stats
        if each.get("operator") == operator.number
    }


def _evicted(operator: _LimitedOperator, stats: Iterable[Mapping[str, Any]]) -> int:
    """Rows that the operator has evicted since its state began."""
    return sum(
        count
        for each in stats
        if each.get("operator") == operator.number
        for what, count in each["counts"].items()
        if what.endswith(".evicted")
    )


def shares(usage: Usage, limit: int | None) -> dict[int, int | None]:
    """Divides a limit among key groups in proportion to their usage. None for each group if the sum
    is within the limit."""
    total = sum(usage.values())
    if limit is None or total <= limit:
        return dict.fromkeys(usage)
    parts = {label: used * limit // total for label, used in usage.items()}
    left = limit - sum(parts.values())
    rests = sorted(usage, key=lambda label: (-(usage[label] * limit % total), label))
    for label in rests[:left]:
        parts[label] += 1
    return dict(parts)
