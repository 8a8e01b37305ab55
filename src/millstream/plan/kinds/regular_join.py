"""Describes the regular join: pairs with equal keys within 'state.ttl'."""

from __future__ import annotations

from millstream.plan.document import Description, data, fact
from millstream.plan.document.formats import shifted_text
from millstream.plan.expressions import Expression
from millstream.plan.kinds.base import (
    NoEventTime,
    OperatorFacts,
    StateFacts,
    StreamJoinKind,
    TimeFix,
)
from millstream.plan.kinds.operator_properties import FOREVER_JOIN, REGULAR_JOIN
from millstream.plan.kinds.stream_joins import (
    columnar_limitation,
    describe_join,
    matching_of,
    names_of,
    predicate_facts,
)
from millstream.plan.kinds.stream_names import results_delay, stream_name
from millstream.plan.nodes import Input, JoinKind, RegularJoin
from millstream.temporal import format_span
from millstream.values import JoinType


def _state(join: RegularJoin) -> StateFacts:
    sides = join.left, join.right
    expiry = tuple(
        _row_expiry(join, side, changes)
        for side, changes in zip(sides, join.over_changes, strict=True)
    )
    return StateFacts(
        expiry, " and ".join(_side_state_size(join, side) for side in sides), _emits(join)
    )


def _row_expiry(join: RegularJoin, side: Input, changes: bool) -> str:
    name = stream_name(side)
    if join.ttl is None:
        retracted = "only when retracted" if changes else "never"
        return f"{name}: {retracted} ('state.ttl' = 'forever')"
    until = shifted_text(str(side.time), join.ttl)
    retracted = ", or when retracted" if changes else ""
    return f"{name}: when the watermark passes {until} ('state.ttl'){retracted}"


def _side_state_size(join: RegularJoin, side: Input) -> str:
    if join.ttl is None:
        return f"all rows of {stream_name(side)}"
    delay = results_delay(join)
    span = join.ttl + (side.delay if delay is None else delay)
    return f"the last {format_span(span)} of {stream_name(side)}"


def _emits(join: RegularJoin) -> tuple[str, ...]:
    left, right = stream_name(join.left), stream_name(join.right)
    if join.how is JoinType.SEMI:
        emits = [f"a row of {left} once, when its first match arrives"]
        if join.over_changes[1]:
            emits.append("-D when its last match is retracted")
    elif join.how is JoinType.ANTI:
        emits = [_emit_unmatched(left)]
    else:
        emits = ["a pair when its later row arrives"]
        emits += [_emit_unmatched(left)] if join.how.preserves_left else []
        emits += [_emit_unmatched(right)] if join.how.preserves_right else []
    retracting = _retracting_sides(join)
    if retracting and not join.how.left_only:
        emits.append(f"-D for each pair of a retracted row of {' or '.join(retracting)}")
    elif join.over_changes[0]:
        emits.append(f"-D for a retracted row of {left}")
    return tuple(emits)


def _emit_unmatched(name: str) -> str:
    return (
        f"an unmatched row of {name} immediately; -D when a match arrives, +I again when its last "
        "match is retracted"
    )


def _retracting_sides(join: RegularJoin) -> list[str]:
    """Returns the names of the sides whose rows may be retracted."""
    names = (stream_name(side) for side in (join.left, join.right))
    return [name for name, on in zip(names, join.over_changes, strict=True) if on]


def _describe(join: RegularJoin, facts: OperatorFacts) -> Description:
    ttl = "none" if join.ttl is None else "none; rows expire by 'state.ttl'"
    changing = _retracting_sides(join)
    shown = [f"{' and '.join(changing)} may retract rows"] if changing else []
    own = (
        fact("ttl_us", join.ttl, "bound", ttl),
        fact("over_changes", list(join.over_changes), "changes", *shown),
        data("retracts", join.retracts),
    )
    timed = join.ttl is not None
    return describe_join(
        "Regular join", join, facts, own, timed=timed, predicates=predicate_facts(join)
    )


def _watermark_delay(join: RegularJoin, _: int) -> int:
    """Returns 'state.ttl': no row of a pair is older."""
    assert join.ttl is not None, "a join without expiry has results without an event time"
    return join.ttl


def _missing_time(join: RegularJoin) -> NoEventTime | None:
    if join.retracts:
        return NoEventTime("retracts pairs", TimeFix.BOUND)
    if join.ttl is None:
        return NoEventTime("joins rows of any age", TimeFix.BOUND)
    return None


def _expressions_over_retractions(join: RegularJoin) -> tuple[Expression | None, ...]:
    if not any(join.over_changes):
        return ()
    keys = (each for key in join.keys for each in (key.left, key.right))
    return (*keys, join.left_where, join.right_where, join.across_sql)


KIND = StreamJoinKind[RegularJoin](
    name="regular_join",
    state=_state,
    describe=_describe,
    label=lambda join, inputs: f"{join.how} regular join of {inputs}",
    summary=lambda join: f"{join.how} join of {' and '.join(names_of(join))} without a time bound",
    watermark_delay=_watermark_delay,
    columnar_limitation=columnar_limitation,
    unsupported_part=lambda join: join.unsupported,
    native_limitation=lambda _: (
        "Spark has no join that expires rows by 'state.ttl' or retracts pairs"
    ),
    no_event_time=_missing_time,
    has_change_key=False,
    expressions_over_retractions=_expressions_over_retractions,
    type=JoinKind.REGULAR,
    properties=lambda join: FOREVER_JOIN if join.ttl is None else REGULAR_JOIN,
    matching=matching_of,
)
