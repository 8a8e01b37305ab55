"""What kinds of join a FROM clause holds, as its syntax tells."""

from __future__ import annotations

from enum import StrEnum

from sqlglot import exp

from millstream.plan.policies import JOIN, TEMPORAL_JOIN, WINDOW_JOIN, Kind


class JoinKind(StrEnum):
    INTERVAL = "interval"
    WINDOW = "window"
    TEMPORAL = "temporal"


POLICIES: dict[JoinKind, Kind] = {
    JoinKind.INTERVAL: JOIN,
    JoinKind.WINDOW: WINDOW_JOIN,
    JoinKind.TEMPORAL: TEMPORAL_JOIN,
}


def kind_of(join: exp.Join, *, windowed: bool) -> JoinKind:
    """A join's kind; `windowed` says that one window is given for all."""
    if join.this.args.get("version"):
        return JoinKind.TEMPORAL
    return JoinKind.WINDOW if windowed else JoinKind.INTERVAL
