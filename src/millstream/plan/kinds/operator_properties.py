"""The properties that each kind of operator accepts, and why it rejects others."""

from __future__ import annotations

from dataclasses import dataclass

STATE_LIMITS = ("state.max_rows", "state.max_bytes", "state.on_limit")
_LATE = ("late.policy", "late.budget", "late.sink")


@dataclass(frozen=True, slots=True)
class OperatorProperties:
    """The properties of a kind of operator: those it accepts, and reasons for those it rejects."""

    name: str
    accepted: tuple[str, ...]
    late_reason: str = ""
    ttl_reason: str = ""
    is_join: bool = False


_NO_TTL = "its windows expire when they close"
JOIN = OperatorProperties(
    "a join",
    (*_LATE, *STATE_LIMITS),
    "",
    "its time bound determines when rows expire",
    is_join=True,
)
REGULAR_JOIN = OperatorProperties(
    "a join without a time bound",
    ("state.ttl", *_LATE, *STATE_LIMITS),
    is_join=True,
)
FOREVER_JOIN = OperatorProperties(
    "a join without expiry", ("state.ttl", *STATE_LIMITS), "no row is late", is_join=True
)
TABLE_JOIN = OperatorProperties("a join with a table", (), "it is stateless", "it is stateless")
WINDOW_JOIN = OperatorProperties(
    "a window join", (*_LATE, "window.lateness", *STATE_LIMITS), "", _NO_TTL, is_join=True
)
TEMPORAL_JOIN = OperatorProperties(
    "a temporal join",
    (*_LATE, "temporal.direction", "temporal.tolerance", *STATE_LIMITS),
    "",
    "'temporal.tolerance' limits the age of a version",
    is_join=True,
)
WINDOW = OperatorProperties(
    "a windowed query", (*_LATE, "window.lateness", *STATE_LIMITS), ttl_reason=_NO_TTL
)
CLOCK_WINDOW = OperatorProperties(
    "a query with processing-time windows", STATE_LIMITS, "no row is late", _NO_TTL
)
GROUP = OperatorProperties(
    "an aggregate without a window", ("state.ttl", *STATE_LIMITS), "no row is late"
)
DISTINCT = OperatorProperties("DISTINCT", (*_LATE, "state.ttl", *STATE_LIMITS))
TIMELESS_DISTINCT = OperatorProperties(
    "DISTINCT without an event time", ("state.ttl", *STATE_LIMITS), "its rows have no event time"
)
TOP_OF_WINDOW = OperatorProperties(
    "a Top-N of a window", (*_LATE, *STATE_LIMITS), ttl_reason=_NO_TTL
)
TOP = OperatorProperties(
    "ROW_NUMBER() with EMIT CHANGES", ("state.ttl", *STATE_LIMITS), "no row is late"
)
ROWS = OperatorProperties("OVER (… ROWS …)", (*_LATE, "state.ttl", *STATE_LIMITS))
