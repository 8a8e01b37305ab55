"""Finds non-deterministic parts of an expression.

These are functions of the current time, of random numbers, or of the task that reads a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

# Names of functions that sqlglot does not know.
_TIME_FUNCTIONS = ("now", "localtime")
_TIME_NODES = (
    *(exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.CurrentDatetime),
    *(exp.Localtimestamp, exp.Localtime),
)
# Strings that become the current date or time when cast to DATE or TIMESTAMP: special values, and
# times of day, to which Spark adds the current date.
_TIME_TEXT = re.compile(r"\s*(now|today|yesterday|tomorrow|T?\d{1,2}:\d.*)\s*", re.IGNORECASE)
_TO_TIMESTAMP = ("to_timestamp", "try_to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz")
_OTHER_FUNCTIONS = (
    *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
    *("input_file_block_start", "input_file_block_length", "user", "reflect", "java_method"),
    *("try_reflect", "version", "current_path"),
)
_OTHER_NODES = (
    *(exp.Rand, exp.Randn, exp.Randstr, exp.Uniform, exp.Uuid, exp.Shuffle),
    *(exp.CurrentUser, exp.SessionUser, exp.CurrentTimezone),
    *(exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentSchema),
)


def nondeterministic_parts(tree: exp.Expr, *, clock: bool = True) -> Iterator[exp.Expr]:
    """Yields the parts that can give another value each time they are evaluated.

    Without `clock`, functions of the current time are not included.
    """
    for part in tree.walk():
        name = part.name.lower() if isinstance(part, exp.Anonymous) else ""
        if (
            isinstance(part, _OTHER_NODES)
            or name in _OTHER_FUNCTIONS
            or (clock and _depends_on_time(part, name))
        ):
            yield part


def _depends_on_time(part: exp.Expr, name: str) -> bool:
    if isinstance(part, exp.StrToUnix) and not part.this:  # unix_timestamp() is the current time
        return True
    return isinstance(part, _TIME_NODES) or name in _TIME_FUNCTIONS or _is_time_text(part, name)


def _is_time_text(part: exp.Expr, name: str) -> bool:
    if isinstance(part, exp.Cast):
        given = part.this if part.to.is_type(*exp.DataType.TEMPORAL_TYPES) else None
    else:
        given = next(iter(part.expressions), None) if name in _TO_TIMESTAMP else None
    if not isinstance(given, exp.Literal) or not given.is_string:
        return False
    return _TIME_TEXT.fullmatch(given.name) is not None
