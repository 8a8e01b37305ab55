"""The ledger of a query: the outcome of every input row of every operator, across restarts.

`row_outcomes` defines the counts and their sums. Results of one operator that another reads are
input rows of the second and counted there as well. A stateless query is one operator without state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from millstream.kernels.core.heavy_hitters import HeavyHitters
from millstream.observe.operator_names import Names, OperatorNames
from millstream.row_outcomes import ACCEPTED_OUTCOMES, REJECTED_OUTCOMES, RowOutcome

_SIDES = {0: (), 1: ("input",), 2: ("left", "right")}
# Of the rows for which an expression failed: those that are copies for one of several outputs.
FAILED_COPIES = "failed_copies"
_STATE = ("state_rows", "state_bytes", "segments", "peak_rows")


@dataclass(slots=True)
class InputLedger:
    """The outcomes of the rows of one input."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    derived: bool = False  # results of another operator, not rows of a source

    def __getitem__(self, outcome: str) -> int:
        return self.counts.get(outcome, 0)

    @property
    def errors(self) -> list[str]:
        """The counts that are not balanced."""
        found = []
        rows = self[RowOutcome.IN] + self[RowOutcome.COPIES]
        counted = self[RowOutcome.ACCEPTED] + sum(self[outcome] for outcome in REJECTED_OUTCOMES)
        if rows != counted:
            found.append(f"{self.name}: {rows} rows in, {counted} accounted for")
        counted = sum(self[outcome] for outcome in ACCEPTED_OUTCOMES)
        if self[RowOutcome.ACCEPTED] != counted:
            found.append(
                f"{self.name}: {self[RowOutcome.ACCEPTED]} rows accepted, {counted} accounted for"
            )
        return found

    def as_data(self) -> dict[str, int]:
        shown = (
            outcome for outcome in RowOutcome if outcome is not RowOutcome.COPIES or self[outcome]
        )
        return {outcome.value: self[outcome] for outcome in shown}


@dataclass(slots=True)
class OperatorLedger:
    """One operator: its inputs, and of a join the rows that it emitted."""

    name: str
    inputs: list[InputLedger]
    matches: int = 0
    unmatched: int = 0
    reported: bool = True  # whether a key group has reported its counts
    has_state: bool = True

    def as_data(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "inputs": [each.name for each in self.inputs],
            "matches": self.matches,
            "unmatched": self.unmatched,
            "reported": self.reported,
        }


@dataclass(frozen=True, slots=True)
class SkewedKey:
    """A key of a join and about how many rows of an input have it: never less."""

    input: str
    key: str
    rows: int
    share: float


@dataclass(slots=True)
class Ledger:
    """All operators of one query, from the sources to the sinks, then outputs without an operator,
    and the rows it wrote."""

    operators: list[OperatorLedger]
    rows_out: int = 0  # of all outputs
    state: dict[str, int] = field(default_factory=dict)
    tables: dict[str, dict[str, int]] = field(default_factory=dict)  # lookups
    skewed_keys: list[SkewedKey] = field(
        default_factory=list
    )  # heavy hitters of the inputs of joins
    written: dict[str, int] = field(default_factory=dict)  # to sinks of late rows and dead letters
    lost: Sequence[Sequence[int]] = ()  # first and last batch, where counts were lost in a crash
    outputs: dict[str, int] = field(default_factory=dict)  # rows written, by sink

    @property
    def inputs(self) -> list[InputLedger]:
        return [each for operator in self.operators for each in operator.inputs]

    @property
    def matches(self) -> int:
        return sum(each.matches for each in self.operators)

    @property
    def unmatched(self) -> int:
        return sum(each.unmatched for each in self.operators)

    @property
    def total_in(self) -> int:
        return sum(each[RowOutcome.IN] for each in self.inputs if not each.derived)

    @property
    def errors(self) -> list[str]:
        lost = [
            f"the counts of {_batches(*each)} were lost in a crash; no row of the sink was"
            for each in self.lost
        ]
        return [*lost, *(error for each in self.inputs for error in each.errors)]

    @property
    def balanced(self) -> bool | None:
        """Whether every row is accounted for; None if an operator has not reported yet."""
        if self.errors:
            return False
        return None if self.unreported else True

    @property
    def unreported(self) -> list[str]:
        return [each.name for each in self.operators if not each.reported]

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(_text(self))}</pre>"

    def as_data(self) -> dict[str, Any]:
        return {
            "inputs": {each.name: each.as_data() for each in self.inputs},
            "operators": [each.as_data() for each in self.operators],
            "matches": self.matches,
            "unmatched": self.unmatched,
            "rows_out": self.rows_out,
            **({"outputs": self.outputs} if len(self.outputs) > 1 else {}),
            "state": self.state,
            **({"tables": self.tables} if self.tables else {}),
            **(
                {"skewed_keys": [asdict(key) for key in self.skewed_keys]}
                if self.skewed_keys
                else {}
            ),
            "balanced": self.balanced,
            "errors": self.errors,
        }


def _text(ledger: Ledger | SparkLedger) -> str:
    """The ledger as a table, for a console or a notebook."""
    from millstream.observe.ledger_text import format_ledger  # which imports this module

    return format_ledger("ledger", ledger)


OWN_LATE_SINK = "late"  # in the checkpoint, if the query names none


def dead_letters_of(source: str) -> str:
    """The key of a source or table in `Ledger.written`."""
    return f"dead letters of {source}"


def late_rows_in(sink: str) -> str:
    """The key of a sink of late rows in `Ledger.written`."""
    return f"late rows in {sink}"


def _batches(first: int, last: int) -> str:
    return f"batch {first}" if first == last else f"batches {first} to {last}"


@dataclass(slots=True)
class SparkLedger:
    """What Spark reports of a query on the native engine. Whether it is balanced is unknown."""

    rows_in: dict[str, int] = field(default_factory=dict)
    late: int = 0  # of all inputs together
    rows_out: int = 0
    state: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)  # rows written, by sink

    @property
    def total_in(self) -> int:
        return sum(self.rows_in.values())

    @property
    def errors(self) -> list[str]:
        return []

    @property
    def balanced(self) -> bool | None:
        return None

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(_text(self))}</pre>"

    def as_data(self) -> dict[str, Any]:
        return {
            "inputs": {name: {RowOutcome.IN.value: count} for name, count in self.rows_in.items()},
            RowOutcome.LATE.value: self.late,
            "rows_out": self.rows_out,
            **({"outputs": self.outputs} if len(self.outputs) > 1 else {}),
            "state": self.state,
            "balanced": self.balanced,
            "errors": self.errors,
        }


def ledger_of_operators(
    names: Names, order: Iterable[int], stats: Iterable[Mapping[str, Any]], rows_out: int
) -> Ledger:
    """Returns the ledger from the last report of every key group, which has all counts since its
    state began. `order` are the numbers of the operators from the sources to the sinks."""
    stats = list(stats)
    state = dict.fromkeys(_STATE, 0)
    reports: dict[int, list[Mapping[str, Any]]] = {}
    for report in stats:
        reports.setdefault(report["operator"], []).append(report)
        for name in _STATE:
            state[name] += report["counts"].get(name, 0)
    operators = []
    for number in order:
        found = reports.get(number, [])
        unions = _unions_of_operator(names[number], found)
        operators += unions
        operators.append(_of_operator(names[number], found, unions))
    return Ledger(operators, rows_out, state, skewed_keys=_skewed_keys(stats))


def _unions_of_operator(
    names: OperatorNames, reports: list[Mapping[str, Any]]
) -> list[OperatorLedger]:
    """Returns a ledger for each UNION ALL that an operator reads, with the counts of its branches.

    A row that is not rejected before the shuffle is a row of the operator's input.
    """
    found = []
    for own, branches in zip(names.inputs, names.branches, strict=False):
        if not branches:
            continue
        inputs = [InputLedger(name, derived=derived) for name, derived in branches]
        for each in inputs:
            for report in reports:
                for outcome, count in report["input_counts"].get(each.name, {}).items():
                    _add(each.counts, outcome, count)
            rejected = sum(each[outcome] for outcome in REJECTED_OUTCOMES)
            accepted = each[RowOutcome.IN] - rejected
            each.counts |= {RowOutcome.ACCEPTED: accepted, RowOutcome.PROCESSED: accepted}
        name = f"union of {' and '.join(each.name for each in inputs)} as {own}"
        found.append(OperatorLedger(name, inputs, reported=bool(reports), has_state=False))
    return found


def _of_operator(
    names: OperatorNames, reports: list[Mapping[str, Any]], unions: Sequence[OperatorLedger] = ()
) -> OperatorLedger:
    inputs = {
        name: InputLedger(name, derived=derived)
        for name, derived in zip(names.inputs, names.derived, strict=True)
    }
    sides = dict(zip(_SIDES[len(names.inputs)], names.inputs, strict=True))
    ledger = OperatorLedger(names.operator, list(inputs.values()), reported=bool(reports))
    for report in reports:
        for key, count in report["counts"].items():
            side, _, outcome = key.rpartition(".")
            if side:
                _add(inputs[sides[side]].counts, outcome, count)
        for name in names.inputs:
            for outcome, count in report["input_counts"].get(name, {}).items():
                _add(inputs[name].counts, outcome, count)
        ledger.matches += report["counts"].get("matches", 0)
        ledger.unmatched += report["counts"].get("unmatched", 0)
    read = iter(unions)
    for name, branches in zip(names.inputs, names.branches, strict=False):
        for branch in next(read).inputs if branches else ():
            _add(inputs[name].counts, RowOutcome.IN, branch[RowOutcome.PROCESSED])
            # Copies of a salted join are made of the rows that the operator reads.
            _add(inputs[name].counts, RowOutcome.COPIES, branch.counts.pop(RowOutcome.COPIES, 0))
    return ledger


def _skewed_keys(stats: Iterable[Mapping[str, Any]]) -> list[SkewedKey]:
    """Returns the keys with a large share of an input's rows, from the summaries of its key
    groups."""
    summaries: dict[str, HeavyHitters] = {}
    for group in stats:
        for name, data in group.get("heavy_hitters", {}).items():
            merged = summaries.setdefault(name, HeavyHitters(data["size"]))
            merged.merge(HeavyHitters.of_data(data))
    return [
        SkewedKey(name, found.name or str(found.hash), found.least, found.least / summary.rows)
        for name, summary in summaries.items()
        for found in summary.top(_SHOWN)
        if summary.rows >= _MIN_ROWS and found.least >= _MIN_SHARE * summary.rows
    ]


_SHOWN = 3
_MIN_ROWS = 1_000  # with fewer rows, any key can be skewed
_MIN_SHARE = 0.1


def _add(counts: dict[str, int], name: str, count: int) -> None:
    counts[name] = counts.get(name, 0) + count


def ledger_of_select(
    name: str,
    counts: Mapping[str, int],
    written: Sequence[int],
    *,
    extra_matches: int = 0,
    lookup_failed: int = 0,
) -> OperatorLedger:
    """Outputs without an operator: each reads every row that is not malformed, and emits or filters
    it. `written` is how many rows each has written; `extra_matches` how many more rows there were
    because tables had several for one key."""
    read, malformed = counts.get(RowOutcome.IN, 0), counts.get(RowOutcome.MALFORMED, 0)
    failed = counts.get(RowOutcome.FAILED_EXPRESSION, 0)
    failed_copies = counts.get(FAILED_COPIES, 0)
    valid = read - malformed - lookup_failed - (failed - failed_copies)
    given = valid * len(written)
    emitted = sum(written) + failed_copies
    filtered = max(0, min(given, given + extra_matches - emitted))
    processed = given - filtered - failed_copies
    outcomes = {RowOutcome.IN: read, RowOutcome.MALFORMED: malformed, RowOutcome.FILTERED: filtered}
    outcomes |= {RowOutcome.LOOKUP_FAILED: lookup_failed, RowOutcome.COPIES: given - valid}
    outcomes[RowOutcome.FAILED_EXPRESSION] = failed
    outcomes |= {RowOutcome.ACCEPTED: processed, RowOutcome.PROCESSED: processed}
    rows = InputLedger(name, {outcome.value: count for outcome, count in outcomes.items()})
    return OperatorLedger(f"rows of {name}", [rows], has_state=False)
