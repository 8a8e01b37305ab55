"""Formats the ledger as a table: indented counts sum to the count above them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from millstream.observe.ledger import InputLedger, Ledger, OperatorLedger, SparkLedger
from millstream.row_outcomes import ACCEPTED_OUTCOMES, REJECTED_OUTCOMES, RowOutcome

# Shown only where there are any.
_RARE = {
    RowOutcome.DUPLICATE,
    RowOutcome.FAILED_PREDICATE,
    RowOutcome.LOOKUP_FAILED,
    RowOutcome.FAILED_EXPRESSION,
    RowOutcome.AHEAD_OF_TIME,
}
# What is shown of lookups in a table, in this order.
_LOOKUPS = (
    *("requested", "found", "absent", "hits", "negative_hits", "misses", "expired", "evicted"),
    *("queries", "retries", "failed"),
)
_Line = tuple[str, Sequence[str]]


def format_ledger(name: str, ledger: Ledger | SparkLedger) -> str:
    """The ledger of the query `name`; the last line says whether it is balanced."""
    if isinstance(ledger, SparkLedger):
        lines = [(name, list(ledger.rows_in)), *_by_spark(ledger)]
    elif len(ledger.operators) == 1:
        [only] = ledger.operators
        lines = [(name, _names(only)), *_fates(only.inputs, in_state=only.has_state)]
        lines += [*_out(ledger), *_closing(ledger)]
    else:
        lines = [(name, [])]
        for each in ledger.operators:
            lines += [(each.name, _names(each)), *_fates(each.inputs, in_state=each.has_state)]
            lines += _matches(each)
        lines += [*_rows_out(ledger), *_closing(ledger)]
    return "\n".join(_table(lines))


def _names(operator: OperatorLedger) -> list[str]:
    return [each.name for each in operator.inputs]


def _fates(inputs: Sequence[InputLedger], *, in_state: bool) -> Iterator[_Line]:
    def line(indent: str, outcome: RowOutcome) -> _Line:
        return f"{indent}{outcome.label}", [f"{each[outcome]:,}" for each in inputs]

    def any_of(outcome: RowOutcome) -> bool:
        return any(each[outcome] for each in inputs)

    yield line("", RowOutcome.IN)
    if any_of(RowOutcome.COPIES):
        yield line("", RowOutcome.COPIES)
    yield line("  ", RowOutcome.ACCEPTED)
    if in_state:  # a stateless query only processes rows
        yield from (line("    ", outcome) for outcome in ACCEPTED_OUTCOMES)
    yield from (
        line("  ", outcome)
        for outcome in REJECTED_OUTCOMES
        if outcome not in _RARE or any_of(outcome)
    )
    if any_of(RowOutcome.REASSIGNED):
        yield line("", RowOutcome.REASSIGNED)


def _matches(operator: OperatorLedger, indent: str = "") -> Iterator[_Line]:
    if operator.matches or operator.unmatched:
        yield f"{indent}matches", [f"{operator.matches:,}"]
        yield f"{indent}unmatched", [f"{operator.unmatched:,}"]


def _out(ledger: Ledger) -> Iterator[_Line]:
    yield from _rows_out(ledger)
    yield from _matches(ledger.operators[0], "  ")
    filtered = ledger.matches + ledger.unmatched - ledger.rows_out
    if filtered > 0 and len(ledger.outputs) <= 1:
        yield "  less WHERE", [f"{filtered:,}"]


def _rows_out(ledger: Ledger | SparkLedger) -> Iterator[_Line]:
    yield "out", [f"{ledger.rows_out:,}"]
    for sink, rows in ledger.outputs.items() if len(ledger.outputs) > 1 else ():
        yield f"  to {sink}", [f"{rows:,}"]


def _closing(ledger: Ledger) -> Iterator[_Line]:
    for skewed in ledger.skewed_keys:
        yield f"skewed key of {skewed.input}: {skewed.key}, {skewed.share:.0%} of its rows", []
    for name, counts in ledger.tables.items():
        shown = [
            f"{counts[what]:,} {what.replace('_', ' ')}" for what in _LOOKUPS if counts.get(what)
        ]
        yield f"table {name}: {', '.join(shown) or 'no lookups'}", []
    if ledger.errors:
        yield f"not balanced: {'; '.join(ledger.errors)}", []
    elif ledger.unreported:
        yield f"balance unknown: no report yet from {', '.join(ledger.unreported)}", []
    else:
        yield "balanced", []


def _by_spark(ledger: SparkLedger) -> list[_Line]:
    return [
        ("in", [f"{count:,}" for count in ledger.rows_in.values()]),
        ("  late", [f"{ledger.late:,}", *(["of all inputs"] if len(ledger.rows_in) > 1 else [])]),
        *_rows_out(ledger),
        ("balance unknown: Spark reports no other counts of its own operators", []),
    ]


def _table(rows: Iterable[_Line]) -> list[str]:
    rows = list(rows)
    label = max(len(text) for text, cells in rows if cells)
    width = max((len(cell) for _, cells in rows for cell in cells), default=0)
    return [
        (text.ljust(label) + "".join(f"  {cell.rjust(width)}" for cell in cells)).rstrip()
        for text, cells in rows
    ]
