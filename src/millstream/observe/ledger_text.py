"""Formats the ledger as a table: indented counts sum to the count above them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from millstream.observe.ledger import Account, InputAccount, OperatorAccount, SparkAccount
from millstream.row_outcomes import ACCEPTED, REJECTED, Fate

# Shown only where there are any.
_RARE = {
    Fate.DUPLICATE,
    Fate.UNMATCHED_PREDICATE,
    Fate.LOOKUP_FAILED,
    Fate.AHEAD_OF_TIME,
}
# What is shown of lookups in a table, in this order.
_LOOKUPS = (
    *("asked", "found", "absent", "hits", "negative_hits", "misses", "expired", "evicted"),
    *("queries", "retries", "failed"),
)
_Line = tuple[str, Sequence[str]]


def account_text(name: str, account: Account | SparkAccount) -> str:
    """The ledger of the query `name`; the last line says whether it is balanced."""
    if isinstance(account, SparkAccount):
        lines = [(name, list(account.rows_in)), *_by_spark(account)]
    elif len(account.operators) == 1:
        [only] = account.operators
        lines = [(name, _names(only)), *_fates(only.inputs, in_state=only.has_state)]
        lines += [*_out(account), *_closing(account)]
    else:
        lines = [(name, [])]
        for each in account.operators:
            lines += [(each.name, _names(each)), *_fates(each.inputs, in_state=each.has_state)]
            lines += _matches(each)
        lines += [*_rows_out(account), *_closing(account)]
    return "\n".join(_table(lines))


def _names(operator: OperatorAccount) -> list[str]:
    return [each.name for each in operator.inputs]


def _fates(inputs: Sequence[InputAccount], *, in_state: bool) -> Iterator[_Line]:
    def line(indent: str, fate: Fate) -> _Line:
        return f"{indent}{fate.label}", [f"{each[fate]:,}" for each in inputs]

    def any_of(fate: Fate) -> bool:
        return any(each[fate] for each in inputs)

    yield line("", Fate.IN)
    if any_of(Fate.COPIES):
        yield line("", Fate.COPIES)
    yield line("  ", Fate.ACCEPTED)
    if in_state:  # a stateless query only processes rows
        yield from (line("    ", fate) for fate in ACCEPTED)
    yield from (line("  ", fate) for fate in REJECTED if fate not in _RARE or any_of(fate))
    if any_of(Fate.REASSIGNED):
        yield line("", Fate.REASSIGNED)


def _matches(operator: OperatorAccount, indent: str = "") -> Iterator[_Line]:
    if operator.matches or operator.unmatched:
        yield f"{indent}matches", [f"{operator.matches:,}"]
        yield f"{indent}unmatched", [f"{operator.unmatched:,}"]


def _out(account: Account) -> Iterator[_Line]:
    yield from _rows_out(account)
    yield from _matches(account.operators[0], "  ")
    filtered = account.matches + account.unmatched - account.rows_out
    if filtered > 0 and len(account.outputs) <= 1:
        yield "  less WHERE", [f"{filtered:,}"]


def _rows_out(account: Account | SparkAccount) -> Iterator[_Line]:
    yield "out", [f"{account.rows_out:,}"]
    for sink, rows in account.outputs.items() if len(account.outputs) > 1 else ():
        yield f"  to {sink}", [f"{rows:,}"]


def _closing(account: Account) -> Iterator[_Line]:
    for heavy in account.heavy:
        yield f"skewed key of {heavy.input}: {heavy.key}, {heavy.share:.0%} of its rows", []
    for name, counts in account.tables.items():
        shown = [
            f"{counts[what]:,} {what.replace('_', ' ')}" for what in _LOOKUPS if counts.get(what)
        ]
        yield f"table {name}: {', '.join(shown) or 'no lookups'}", []
    if account.errors:
        yield f"not balanced: {'; '.join(account.errors)}", []
    elif account.unreported:
        yield f"balance unknown: no report yet from {', '.join(account.unreported)}", []
    else:
        yield "balanced", []


def _by_spark(account: SparkAccount) -> list[_Line]:
    return [
        ("in", [f"{count:,}" for count in account.rows_in.values()]),
        ("  late", [f"{account.late:,}", *(["of all inputs"] if len(account.rows_in) > 1 else [])]),
        *_rows_out(account),
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
