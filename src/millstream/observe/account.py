"""The account of rows: every row that came in is accounted for, exactly, over restarts too.

in       = accepted + late + filtered + missing time + missing key + malformed
accepted = held + expired + evicted
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.plan.nodes import IntervalJoin
from millstream.plan.walk import sources_of

LOST = ("late", "filtered", "missing_time", "missing_key", "malformed")
KEPT = ("held", "expired", "evicted")
_SIDES = ("left", "right")
_STATE = ("state_rows", "state_bytes", "segments", "peak_rows", "lookups")


@dataclass(slots=True)
class InputAccount:
    """What became of the rows of one input. A query without state holds nothing: it accepts."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, what: str) -> int:
        return self.counts.get(what, 0)

    @property
    def errors(self) -> list[str]:
        """What does not add up, in words."""
        found = []
        spent = self["accepted"] + sum(self[what] for what in LOST)
        if self["in"] != spent:
            found.append(f"{self.name}: {self['in']} rows in, {spent} accounted for")
        kept = sum(self[what] for what in KEPT)
        if self["accepted"] != kept:
            found.append(f"{self.name}: {self['accepted']} rows accepted, {kept} accounted for")
        return found

    def as_data(self) -> dict[str, int]:
        return {what: self[what] for what in ("in", "accepted", *LOST, "reassigned", *KEPT)}


@dataclass(slots=True)
class Account:
    """All inputs of one pipeline, and what came out of it."""

    inputs: list[InputAccount]
    matches: int = 0
    unmatched: int = 0
    rows_out: int = 0
    state: dict[str, int] = field(default_factory=dict)

    @property
    def total_in(self) -> int:
        return sum(each["in"] for each in self.inputs)

    @property
    def errors(self) -> list[str]:
        return [error for each in self.inputs for error in each.errors]

    def as_data(self) -> dict[str, Any]:
        return {
            "inputs": {each.name: each.as_data() for each in self.inputs},
            "matches": self.matches,
            "unmatched": self.unmatched,
            "rows_out": self.rows_out,
            "state": self.state,
            "adds_up": not self.errors,
        }


@dataclass(slots=True)
class SparkAccount:
    """A join of Spark's own: all that Spark tells of it. Whether it adds up is not known."""

    rows_in: dict[str, int] = field(default_factory=dict)
    late: int = 0  # of all inputs together
    rows_out: int = 0
    state: dict[str, int] = field(default_factory=dict)

    @property
    def total_in(self) -> int:
        return sum(self.rows_in.values())

    @property
    def errors(self) -> list[str]:
        return []

    def as_data(self) -> dict[str, Any]:
        return {
            "inputs": {name: {"in": count} for name, count in self.rows_in.items()},
            "late": self.late,
            "rows_out": self.rows_out,
            "state": self.state,
            "adds_up": None,
        }


def input_names(join: IntervalJoin) -> tuple[str, str]:
    """What a join's inputs are called in accounts: by their source, unless that is one for both."""
    left, right = sources_of(join.left.node)[0].name, sources_of(join.right.node)[0].name
    if left != right:
        return left, right
    return f"{left} {join.left.alias}", f"{right} {join.right.alias}"


def of_join(names: tuple[str, str], stats: Iterable[Mapping[str, Any]], rows_out: int) -> Account:
    """From the statistics of all key groups, each counted since its state began."""
    counts: dict[str, int] = {}
    inputs = [InputAccount(name) for name in names]
    for group in stats:
        for what, count in group["counts"].items():
            counts[what] = counts.get(what, 0) + count
        for each in inputs:
            for what, count in group["tally"].get(each.name, {}).items():
                each.counts[what] = each.counts.get(what, 0) + count
    for side, each in zip(_SIDES, inputs, strict=True):
        for what, count in counts.items():
            if what.startswith(f"{side}."):
                each.counts[what.removeprefix(f"{side}.")] = count
    state = {what: counts.get(what, 0) for what in _STATE}
    return Account(inputs, counts.get("matches", 0), counts.get("unmatched", 0), rows_out, state)


def of_select(name: str, tally: Mapping[str, int], rows_out: int) -> Account:
    """A query without state: what is not malformed either comes out or is filtered out."""
    read, malformed = tally.get("in", 0), tally.get("malformed", 0)
    counts = {"in": read, "malformed": malformed, "accepted": rows_out, "expired": rows_out}
    counts["filtered"] = read - malformed - rows_out
    return Account([InputAccount(name, counts)], rows_out=rows_out)
