"""The regular join: pairs with equal keys, however far apart, within 'state.ttl'."""

from __future__ import annotations

from millstream.plan.document import Description, data, fact
from millstream.plan.document.formats import shifted_text
from millstream.plan.expressions import Expression
from millstream.plan.join_kinds import JoinKind
from millstream.plan.kinds.base import (
    OperatorFacts,
    StateFacts,
    StreamJoinKind,
    TimeFix,
    NoEventTime,
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
from millstream.plan.nodes import Input, RegularJoin
from millstream.temporal import format_span
from millstream.values import JoinType


def _state(join: RegularJoin) -> StateFacts:
    sides = join.left, join.right
    held = tuple(
        _row_expiry(join, side, changes)
        for side, changes in zip(sides, join.over_changes, strict=True)
    )
    return StateFacts(
        held, " and ".join(_side_state_size(join, side) for side in sides), _emits(join)
    )


def _row_expiry(join: RegularJoin, side: Input, changes: bool) -> str:
    name, or_gone = stream_name(side), ", or until they are taken back" if changes else ""
    if join.ttl is None:
        return f"{name} rows are held for ever, as 'state.ttl' = 'forever' asks{or_gone}"
    until = shifted_text(str(side.time), join.ttl)
    return f"{name} rows are held until the watermark passes {until}, as 'state.ttl' asks{or_gone}"


def _side_state_size(join: RegularJoin, side: Input) -> str:
    if join.ttl is None:
        return f"every row of {stream_name(side)} that ever came"
    lag = results_delay(join)
    span = join.ttl + (side.delay if lag is None else lag)
    return f"rows of {format_span(span)} of {stream_name(side)}"


def _emits(join: RegularJoin) -> tuple[str, ...]:
    left, right = stream_name(join.left), stream_name(join.right)
    if join.how is JoinType.SEMI:
        told = [f"a row of {left} once, when its first partner is there"]
        if join.over_changes[1]:
            told.append("-D when its last partner is taken back")
    elif join.how is JoinType.ANTI:
        told = [_emit_unmatched(left)]
    else:
        told = ["a pair when its later row arrives"]
        told += [_emit_unmatched(left)] if join.how.preserves_left else []
        told += [_emit_unmatched(right)] if join.how.preserves_right else []
    changing = _retracting_sides(join)
    if changing and not join.how.left_only:
        told.append(f"-D for each pair of a row of {' or '.join(changing)} that is taken back")
    elif join.over_changes[0]:
        told.append(f"-D for a row of {left} that is taken back")
    return tuple(told)


def _emit_unmatched(name: str) -> str:
    return (
        f"a row of {name} without a partner at once; -D when a partner comes, and +I again when "
        "the last one is taken back"
    )


def _retracting_sides(join: RegularJoin) -> list[str]:
    """The names of the sides whose rows may be retracted."""
    names = (stream_name(side) for side in (join.left, join.right))
    return [name for name, on in zip(names, join.over_changes, strict=True) if on]


def _describe(join: RegularJoin, facts: OperatorFacts) -> Description:
    ttl = "none: rows are held for ever" if join.ttl is None else "'state.ttl' alone"
    changing = _retracting_sides(join)
    shown = [f"rows of {' and '.join(changing)} may be taken back"] if changing else []
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
    """No row of a pair is older than 'state.ttl' allows."""
    assert join.ttl is not None, "rows that are held for ever have no event time"
    return join.ttl


def _missing_time(join: RegularJoin) -> NoEventTime | None:
    if join.retracts:
        return NoEventTime("takes pairs back", TimeFix.BOUND)
    if join.ttl is None:
        return NoEventTime("joins rows however old they are", TimeFix.BOUND)
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
    summary=lambda join: f"{join.how} join of {' and '.join(names_of(join))}, whenever they came",
    watermark_delay=_watermark_delay,
    columnar_limitation=columnar_limitation,
    native_limitation=lambda _: (
        "Spark has no join that lets rows go by 'state.ttl' or takes pairs back"
    ),
    no_event_time=_missing_time,
    has_change_key=False,
    expressions_over_retractions=_expressions_over_retractions,
    type=JoinKind.REGULAR,
    properties=lambda join: FOREVER_JOIN if join.ttl is None else REGULAR_JOIN,
    matching=matching_of,
)
