"""The kinds of join that a user can name."""

from __future__ import annotations

from enum import StrEnum


class JoinKind(StrEnum):
    """As 'join.type' says it. Syntax tells them apart, but for the regular join: that is an
    interval join without a bound, if 'state.ttl' says how long rows are kept."""

    INTERVAL = "interval"
    WINDOW = "window"
    TEMPORAL = "temporal"
    LOOKUP = "lookup"  # with any table as it is now, whether it is asked or held
    REGULAR = "regular"
