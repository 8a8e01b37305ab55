"""The properties that each kind of operator accepts, and why it accepts no others."""

from __future__ import annotations

from dataclasses import dataclass

_LIMITS = ("state.max_rows", "state.max_bytes", "state.on_limit")
_LATE = ("late.policy", "late.budget", "late.sink")


@dataclass(frozen=True, slots=True)
class OperatorProperties:
    """A kind of operator as its properties see it: which it takes, and why it takes no others."""

    name: str
    accepted: tuple[str, ...]
    late_reason: str = ""
    ttl_reason: str = ""
    is_join: bool = False


_NO_TTL = "its windows are let go when they close"
JOIN = OperatorProperties(
    "a join", (*_LATE, *_LIMITS), "", "its bound says how long rows are kept", is_join=True
)
REGULAR_JOIN = OperatorProperties(
    "a join without a time bound",
    ("state.ttl", *_LATE, *_LIMITS),
    is_join=True,
)
FOREVER_JOIN = OperatorProperties(
    "a join that keeps rows for ever", ("state.ttl", *_LIMITS), "no row is late", is_join=True
)
TABLE_JOIN = OperatorProperties("a join with a table", (), "it keeps no state", "it keeps no state")
WINDOW_JOIN = OperatorProperties(
    "a window join", (*_LATE, "window.lateness", *_LIMITS), "", _NO_TTL, is_join=True
)
TEMPORAL_JOIN = OperatorProperties(
    "a temporal join",
    (*_LATE, "temporal.direction", "temporal.tolerance", *_LIMITS),
    "",
    "'temporal.tolerance' says how old a version may be",
    is_join=True,
)
WINDOW = OperatorProperties(
    "a windowed query", (*_LATE, "window.lateness", *_LIMITS), ttl_reason=_NO_TTL
)
CLOCK_WINDOW = OperatorProperties(
    "a query with windows of the clock", _LIMITS, "rows come on time", _NO_TTL
)
GROUP = OperatorProperties(
    "an aggregate without a window", ("state.ttl", *_LIMITS), "it waits for no time to pass"
)
DISTINCT = OperatorProperties("DISTINCT", (*_LATE, "state.ttl", *_LIMITS))
TIMELESS_DISTINCT = OperatorProperties(
    "DISTINCT without an event time", ("state.ttl", *_LIMITS), "its rows have no time"
)
TOP_OF_WINDOW = OperatorProperties(
    "ROW_NUMBER() of a window", (*_LATE, *_LIMITS), ttl_reason=_NO_TTL
)
TOP = OperatorProperties(
    "ROW_NUMBER() as it changes", ("state.ttl", *_LIMITS), "it waits for no time to pass"
)
ROWS = OperatorProperties("OVER (… ROWS …)", (*_LATE, "state.ttl", *_LIMITS))
