"""How long a join keeps its rows."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PlanError
from millstream.sql.statements import Property
from millstream.temporal import Bounds, format_span, parse_span


def retention_of(properties: Mapping[str, Property], bounds: Bounds) -> int | None:
    given = properties.get("join.retention")
    if given is None:
        return None
    retention, needed = parse_span(given.value), max(bounds.upper, -bounds.lower, 0)
    if retention < needed:
        raise PlanError(
            "MS-PLAN-RETENTION",
            f"'join.retention' is {format_span(retention)}, but the bound {bounds} needs rows "
            f"to be kept for {format_span(needed)}.",
            fix=f"Give {format_span(needed)} or more, or leave it out.",
            place=given.value_place,
        )
    return retention
