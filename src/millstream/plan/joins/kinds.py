"""What kinds of join a FROM clause holds."""

from __future__ import annotations

from enum import StrEnum

from millstream.plan.nodes import (
    IntervalJoin,
    Join,
    RegularJoin,
    SessionJoin,
    TableJoin,
    TemporalJoin,
    WindowJoin,
)
from millstream.plan.policies import (
    FOREVER_JOIN,
    JOIN,
    REGULAR_JOIN,
    TABLE_JOIN,
    TEMPORAL_JOIN,
    WINDOW_JOIN,
    Kind,
)


class JoinKind(StrEnum):
    """As 'join.type' says it. Syntax tells them apart, but for the regular join: that is an
    interval join without a bound, if 'state.ttl' says how long rows are kept."""

    INTERVAL = "interval"
    WINDOW = "window"
    TEMPORAL = "temporal"
    LOOKUP = "lookup"  # with any table as it is now, whether it is asked or held
    REGULAR = "regular"


_POLICIES: dict[JoinKind, Kind] = {
    JoinKind.INTERVAL: JOIN,
    JoinKind.WINDOW: WINDOW_JOIN,
    JoinKind.TEMPORAL: TEMPORAL_JOIN,
    JoinKind.LOOKUP: TABLE_JOIN,
    JoinKind.REGULAR: REGULAR_JOIN,
}


def policy_of(join: Join | TableJoin) -> Kind:
    """The join as its properties see it."""
    if isinstance(join, RegularJoin) and join.ttl is None:
        return FOREVER_JOIN
    return _POLICIES[kind_of(join)]


def kind_of(join: Join | TableJoin) -> JoinKind:
    match join:
        case TableJoin():
            return JoinKind.LOOKUP
        case TemporalJoin():
            return JoinKind.TEMPORAL
        case RegularJoin():
            return JoinKind.REGULAR
        case SessionJoin() | WindowJoin():
            return JoinKind.WINDOW
        case IntervalJoin():
            return JoinKind.INTERVAL
