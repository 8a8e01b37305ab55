"""Describes the temporal join: each row with the version of its key that is valid at its time.

A row at t waits until its version is certain. Versions that are not late have times from the
watermark W on. Backward, a row waits while W <= t. Forward, it waits while W <= v, where v is the
nearest version known, and without one while W <= t + tolerance.

A version at v stays in state for waiting rows and for rows that can still arrive, from W on.
Backward, these are the last version of each key at or before W, and all later ones. Forward, it
stays while W <= v. For the nearest version, a row within `tolerance` of v waits at most as long
again.
"""

from __future__ import annotations

from millstream.plan.document import Description, data, fact
from millstream.plan.document.formats import shifted_text
from millstream.plan.expressions.spark_sql import sql_or_none
from millstream.plan.kinds.base import Matching, OperatorFacts, StateFacts, StreamJoinKind
from millstream.plan.kinds.operator_properties import TEMPORAL_JOIN
from millstream.plan.kinds.stream_joins import describe_join, names_of, salt_fact
from millstream.plan.kinds.stream_names import results_delay, stream_name
from millstream.plan.nodes import Input, JoinKind, TemporalJoin
from millstream.temporal import format_span
from millstream.values import Direction, JoinType


def _state(join: TemporalJoin) -> StateFacts:
    return StateFacts((_row_expiry(join), _version_expiry(join)), _state_size(join), _emits(join))


def _row_delay(join: TemporalJoin) -> int:
    """Returns how far behind the watermark an emitted row can be."""
    if join.direction is Direction.BACKWARD:
        return 0
    return join.tolerance or 0


def _time(side: Input) -> str:
    assert side.time is not None, "both sides of a temporal join have an event time"
    return f"{side.alias}.{side.time}"


def _version_text(join: TemporalJoin) -> str:
    row = _time(join.left)
    within = "" if join.tolerance is None else f", at most {format_span(join.tolerance)} away"
    match join.direction:
        case Direction.BACKWARD:
            return f"the latest at or before {row}{within}"
        case Direction.FORWARD:
            return f"the earliest at or after {row}{within}"
        case Direction.NEAREST:
            return f"the nearest to {row}, the earlier of two equally near{within}"


def _latest_emission(join: TemporalJoin) -> str:
    return shifted_text(str(join.left.time), _row_delay(join))


def _row_expiry(join: TemporalJoin) -> str:
    name, until = stream_name(join.left), f"the watermark passes {_latest_emission(join)}"
    if join.direction is Direction.BACKWARD:
        return f"{name}: when {until}; their version is then certain"
    return f"{name}: when their version is certain, at the latest when {until}"


def _version_expiry(join: TemporalJoin) -> str:
    name, time, tolerance = stream_name(join.right), str(join.right.time), join.tolerance
    if join.direction is Direction.BACKWARD and tolerance is None:
        return (
            f"{name}: when the watermark reaches a later version of the key; the last version of "
            "a key never expires"
        )
    match join.direction:
        case Direction.BACKWARD:
            last = shifted_text(time, tolerance or 0)
            why = "or reaches a later version of the key"
        case Direction.FORWARD:
            last, why = time, "when no later row can match"
        case Direction.NEAREST:
            last, why = (
                shifted_text(time, 2 * (tolerance or 0)),
                "when no row can wait for it",
            )
    return f"{name}: when the watermark passes {last}, {why}"


def _state_size(join: TemporalJoin) -> str:
    delay = results_delay(join)
    waits = format_span(_row_delay(join) + (join.left.delay if delay is None else delay))
    rows = f"the last {waits} of {stream_name(join.left)}"
    if join.direction is Direction.BACKWARD and join.tolerance is None:
        return f"{rows}, and one version per key of {stream_name(join.right)}"
    back = {Direction.BACKWARD: 1, Direction.FORWARD: 0, Direction.NEAREST: 2}[join.direction]
    span = format_span(
        back * (join.tolerance or 0) + (join.right.delay if delay is None else delay)
    )
    return f"{rows} and the last {span} of {stream_name(join.right)}"


def _emits(join: TemporalJoin) -> tuple[str, ...]:
    name, last = stream_name(join.left), _latest_emission(join)
    if join.direction is Direction.BACKWARD:
        matched = f"a row of {name} with its version when the watermark passes {last}"
    else:
        matched = (
            f"a row of {name} with its version as soon as it is certain, at the latest when the "
            f"watermark passes {last}"
        )
    if join.how is JoinType.LEFT:
        return matched, f"an unmatched row, padded with NULL, when the watermark passes {last}"
    return (matched,)


def _describe(join: TemporalJoin, facts: OperatorFacts) -> Description:
    deletes = [str(join.deletes)] if join.deletes else []
    own = (
        salt_fact(join),
        data("direction", str(join.direction)),
        data("tolerance_us", join.tolerance),
        fact("version", _version_text(join), "version", _version_text(join)),
        fact("deletes", sql_or_none(join.deletes), "deletes", *deletes),
    )
    if join.version_where is None:
        return describe_join("Temporal join", join, facts, own)
    text = f"{join.version_where} (otherwise the row has no version; evaluated by Spark)"
    predicate = fact("version_where", sql_or_none(join.version_where), "on version", text)
    return describe_join("Temporal join", join, facts, own, predicates=(predicate,))


def _summary(join: TemporalJoin) -> str:
    one, other = names_of(join)
    return f"{join.how} join of {one} and the version of {other} valid at its time"


KIND = StreamJoinKind[TemporalJoin](
    name="temporal_join",
    state=_state,
    describe=_describe,
    label=lambda join, inputs: f"{join.how} temporal join of {inputs}",
    summary=_summary,
    # A row is emitted when the watermark passes it; forward, it also waits for the tolerance.
    watermark_delay=lambda join, _: _row_delay(join),
    native_limitation=lambda _: "Spark has no temporal join of streams",
    type=JoinKind.TEMPORAL,
    properties=lambda _: TEMPORAL_JOIN,
    matching=lambda join: Matching(ends_version=join.deletes, version_where=join.version_where),
    salt=lambda join: join.salt,
    shared_inputs=lambda join: (0,) if join.salt == 1 else (),
)
