"""Finds the parts of an expression that are not deterministic: functions of time, of chance, or of
the place where a row is read."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

# The names are those of functions unknown to sqlglot.
_CLOCK = ("now",)
_CLOCK_NODES = (
    *(exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.CurrentDatetime),
    exp.Localtimestamp,
)
_CHANCE = (
    *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
    *("input_file_block_start", "input_file_block_length", "user", "reflect", "java_method"),
    "try_reflect",
)
_CHANCE_NODES = (
    *(exp.Rand, exp.Randn, exp.Randstr, exp.Uniform, exp.Uuid, exp.Shuffle),
    *(exp.CurrentUser, exp.SessionUser, exp.CurrentTimezone),
    *(exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentSchema),
)


def nondeterministic_parts(tree: exp.Expr, *, clock: bool = True) -> Iterator[exp.Expr]:
    """The parts that may give another value each time they are evaluated; without `clock`, only
    those that do so for another reason than that time passes."""
    for part in tree.walk():
        name = part.name.lower() if isinstance(part, exp.Anonymous) else ""
        if isinstance(part, _CHANCE_NODES) or name in _CHANCE or (clock and _ticks(part, name)):
            yield part


def _ticks(part: exp.Expr, name: str) -> bool:
    if isinstance(part, exp.StrToUnix) and not part.this:  # unix_timestamp() is the clock
        return True
    return isinstance(part, _CLOCK_NODES) or name in _CLOCK
