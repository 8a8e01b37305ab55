"""The account of rows as a table to read: what stands indented adds up to what stands above it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.observe.account import KEPT, LOST, Account, SparkAccount

_RARE = ("duplicate",)  # told of only if there are any
# What is told of a table that was asked, in this order.
_TOLD = (
    *("asked", "found", "absent", "hits", "negative_hits", "misses", "expired", "evicted"),
    *("queries", "retries", "failed"),
)
_Line = tuple[str, Sequence[str]]


def account_text(name: str, account: Account | SparkAccount) -> str:
    """The account of the pipeline `name`, with a closing line that says whether it adds up."""
    lines = _by_spark(account) if isinstance(account, SparkAccount) else _counted(account)
    return "\n".join(_table((name, _inputs(account)), lines))


def _inputs(account: Account | SparkAccount) -> list[str]:
    if isinstance(account, SparkAccount):
        return list(account.rows_in)
    return [each.name for each in account.inputs]


def _counted(account: Account) -> list[_Line]:
    def line(label: str, what: str) -> _Line:
        return label, [f"{each[what]:,}" for each in account.inputs]

    lines = [line("in", "in")]
    if any(each["copies"] for each in account.inputs):
        lines.append(line("copies", "copies"))
    lines.append(line("  accepted", "accepted"))
    if account.state:  # a query without state keeps nothing
        lines += [line(f"    {what}", what) for what in KEPT]
    lines += [
        line(f"  {what.replace('_', ' ')}", what)
        for what in LOST
        if what not in _RARE or any(each[what] for each in account.inputs)
    ]
    lines.append(("out", [f"{account.rows_out:,}"]))
    if account.matches or account.unmatched:
        lines += [
            ("  matches", [f"{account.matches:,}"]),
            ("  unmatched", [f"{account.unmatched:,}"]),
        ]
        filtered = account.matches + account.unmatched - account.rows_out
        if filtered > 0 and not any(each.derived for each in account.inputs):
            lines.append(("  less WHERE", [f"{filtered:,}"]))
    for heavy in account.heavy:
        share = f"{heavy.share:.0%} of its rows"
        lines.append((f"heavy key of {heavy.input}: {heavy.key}, {share}", []))
    for name, counts in account.tables.items():
        told = [f"{counts[what]:,} {what.replace('_', ' ')}" for what in _TOLD if counts.get(what)]
        lines.append((f"table {name}: {', '.join(told) or 'nothing asked'}", []))
    wrong = account.errors
    lines.append((f"does not add up: {'; '.join(wrong)}" if wrong else "adds up", []))
    return lines


def _by_spark(account: SparkAccount) -> list[_Line]:
    return [
        ("in", [f"{count:,}" for count in account.rows_in.values()]),
        ("  late", [f"{account.late:,}", *(["of all inputs"] if len(account.rows_in) > 1 else [])]),
        ("out", [f"{account.rows_out:,}"]),
        ("Spark tells no more of its own join, so whether this adds up is not known.", []),
    ]


def _table(head: _Line, lines: Iterable[_Line]) -> list[str]:
    rows = [head, *lines]
    label = max(len(text) for text, cells in rows if cells)
    width = max((len(cell) for _, cells in rows[:-1] for cell in cells), default=0)
    return [
        (text.ljust(label) + "".join(f"  {cell.rjust(width)}" for cell in cells)).rstrip()
        for text, cells in rows
    ]
