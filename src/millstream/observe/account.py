"""The account of rows: every row that came in is accounted for, exactly, over restarts too.

in       = accepted + late + duplicate + filtered + missing time + missing key + malformed
accepted = held + expired + evicted

Of a join that is salted, a row of one side is in several groups: the copies come on top of `in`.

An aggregated row is held while its group is. The results of one operator that another reads are
rows in of that one, and accounted for there as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from millstream.kernels.heavy import HeavyKeys
from millstream.plan.nodes import Input, Select, Source
from millstream.plan.walk import bottom_of, inputs_of, operators_of

LOST = ("late", "duplicate", "filtered", "missing_time", "missing_key", "malformed")
KEPT = ("held", "expired", "evicted")
InputNames = tuple[tuple[str, ...], ...]  # of each operator's inputs
_SIDES = {1: ("input",), 2: ("left", "right")}
_STATE = ("state_rows", "state_bytes", "segments", "peak_rows", "lookups")


@dataclass(slots=True)
class InputAccount:
    """What became of the rows of one input. A query without state holds nothing: it accepts."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    derived: bool = False  # results of another operator, not rows of a source

    def __getitem__(self, what: str) -> int:
        return self.counts.get(what, 0)

    @property
    def errors(self) -> list[str]:
        """What does not add up, in words."""
        found = []
        spent = self["accepted"] + sum(self[what] for what in LOST)
        taken = self["in"] + self["copies"]
        if taken != spent:
            found.append(f"{self.name}: {taken} rows in, {spent} accounted for")
        kept = sum(self[what] for what in KEPT)
        if self["accepted"] != kept:
            found.append(f"{self.name}: {self['accepted']} rows accepted, {kept} accounted for")
        return found

    def as_data(self) -> dict[str, int]:
        names = ("in", *(["copies"] if self["copies"] else []), "accepted", *LOST, "reassigned")
        return {what: self[what] for what in (*names, *KEPT)}


@dataclass(frozen=True, slots=True)
class HeavyKey:
    """A key of a join and about how many rows of an input have it: never less."""

    input: str
    key: str
    rows: int
    share: float


@dataclass(slots=True)
class Account:
    """All inputs of one pipeline, and what came out of it."""

    inputs: list[InputAccount]
    matches: int = 0
    unmatched: int = 0
    rows_out: int = 0
    state: dict[str, int] = field(default_factory=dict)
    tables: dict[str, dict[str, int]] = field(default_factory=dict)  # what was asked of them
    heavy: list[HeavyKey] = field(default_factory=list)  # the heaviest keys of joins' inputs

    @property
    def total_in(self) -> int:
        return sum(each["in"] for each in self.inputs if not each.derived)

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
            **({"tables": self.tables} if self.tables else {}),
            **({"heavy": [asdict(key) for key in self.heavy]} if self.heavy else {}),
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


def input_names(root: Select) -> InputNames:
    """What inputs are called in accounts, by operator: by their source or, if they are results of
    another operator, by their alias; where that is not one for all, by both and a number."""
    plain = [[_plain_name(side) for side in inputs_of(each)] for each in operators_of(root)]
    told = [[side.alias for side in inputs_of(each)] for each in operators_of(root)]
    seen = Counter(name for names in plain for name in names)
    used: Counter[str] = Counter()
    made = []
    for names, aliases in zip(plain, told, strict=True):
        full = []
        for name, alias in zip(names, aliases, strict=True):
            shown = name if seen[name] == 1 or name == alias else f"{name} {alias}"
            used[shown] += 1
            full.append(shown if used[shown] == 1 else f"{shown} {used[shown]}")
        made.append(tuple(full))
    return tuple(made)


def _plain_name(side: Input) -> str:
    found = bottom_of(side.node)
    return found.name if isinstance(found, Source) else side.alias


def of_operators(
    names: InputNames, derived: Collection[str], stats: Iterable[Mapping[str, Any]], rows_out: int
) -> Account:
    """From the statistics of all key groups, each counted since its state began."""
    stats = list(stats)
    inputs = {
        name: InputAccount(name, derived=name in derived)
        for each in reversed(names)  # from the sources to the sink
        for name in each
    }
    counts: dict[str, int] = {}
    for group in stats:
        own = names[group["operator"]]
        sides = dict(zip(_SIDES[len(own)], own, strict=True))
        for what, count in group["counts"].items():
            side, _, plain = what.rpartition(".")
            if side:
                _add(inputs[sides[side]].counts, plain, count)
            else:
                _add(counts, what, count)
        for name in own:
            for what, count in group["tally"].get(name, {}).items():
                _add(inputs[name].counts, what, count)
    state = {what: counts.get(what, 0) for what in _STATE}
    matches, unmatched = counts.get("matches", 0), counts.get("unmatched", 0)
    heavy = _heaviest(stats)
    return Account(list(inputs.values()), matches, unmatched, rows_out, state, heavy=heavy)


def _heaviest(stats: Iterable[Mapping[str, Any]]) -> list[HeavyKey]:
    """Keys of a good part of an input's rows, from the summaries of its key groups."""
    summaries: dict[str, HeavyKeys] = {}
    for group in stats:
        for name, data in group.get("heavy", {}).items():
            held = summaries.setdefault(name, HeavyKeys(data["size"]))
            held.merge(HeavyKeys.of_data(data))
    return [
        HeavyKey(name, found.name or str(found.hash), found.least, found.least / summary.rows)
        for name, summary in summaries.items()
        for found in summary.top(_TOLD)
        if summary.rows >= _ENOUGH and found.least >= _HEAVY * summary.rows
    ]


_TOLD = 3
_ENOUGH = 1_000  # rows: of fewer, any key may be heavy
_HEAVY = 0.1


def _add(counts: dict[str, int], what: str, count: int) -> None:
    counts[what] = counts.get(what, 0) + count


def derived_names(root: Select, names: InputNames) -> set[str]:
    """Those of inputs that read results of another operator."""
    return {
        name
        for each, own in zip(operators_of(root), names, strict=True)
        for side, name in zip(inputs_of(each), own, strict=True)
        if operators_of(side.node)
    }


def of_select(name: str, tally: Mapping[str, int], rows_out: int, copies: int = 0) -> Account:
    """A query without state: what is not malformed either comes out or is filtered out. `copies`
    is how many rows there were more, since tables had several of one key."""
    read, malformed = tally.get("in", 0), tally.get("malformed", 0)
    sound = read - malformed
    filtered = max(0, min(sound, sound + copies - rows_out))
    kept = sound - filtered
    counts = {"in": read, "malformed": malformed, "filtered": filtered}
    counts |= {"accepted": kept, "expired": kept}
    return Account([InputAccount(name, counts)], rows_out=rows_out)
