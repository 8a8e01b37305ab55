"""The options of a query's operators: late rows, retention and limits of state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError, PropertyError
from millstream.plan.kinds.operator_properties import TABLE_JOIN, OperatorProperties
from millstream.plan.nodes import Select, Source
from millstream.plan.resolve.event_time import missing_time_reason
from millstream.sql.statements import Property
from millstream.suggestions import nearest, same
from millstream.temporal import LateAction, LatePolicy, OnLimit, StateLimit, parse_span


@dataclass(frozen=True, slots=True)
class QueryOptions:
    properties: Mapping[str, Property]
    sinks: Collection[str]  # names allowed in 'late.sink'
    emit: exp.Expr | None
    place: Place | None
    kinds: tuple[OperatorProperties, ...] = ()  # of other operators of the query


def has_late_side_output(options: QueryOptions) -> bool:
    """Tests whether late rows are written to a side output, with all input columns."""
    policy = options.properties.get("late.policy")
    return policy is not None and policy.value.lower() == LateAction.SIDE_OUTPUT


_ANYWHERE = ("engine", "output.mode", "on.error", "dead_letter.sink")


def reject_unused_properties(
    properties: Mapping[str, Property], *kinds: OperatorProperties
) -> None:
    """Rejects properties that apply to none of a query's operators."""
    for name, item in properties.items():
        if name in _ANYWHERE or any(name in kind.accepted for kind in kinds):
            continue
        if name.startswith("join."):
            if not any(kind.is_join for kind in kinds) and not _applies_to_table_join(name, kinds):
                what = "a join of streams" if TABLE_JOIN in kinds else "a join"
                raise _misplaced_error(
                    f"'{name}' applies to {what}, and this query has none.", "join", item
                )
            continue
        if name.startswith("temporal."):
            raise _misplaced_error(
                f"'{name}' applies to a temporal join, and this query has none.", "join", item
            )
        if not kinds:
            what = "stateful operators, and this query has none"
            raise _misplaced_error(
                f"'{name}' applies to {what}.", "join, aggregate or DISTINCT", item
            )
        kind = next((kind for kind in kinds if kind is not TABLE_JOIN), kinds[0])
        if name == "state.ttl":
            raise _useless_error(f"{kind.name} does not use '{name}': {kind.ttl_reason}.", item)
        if name == "window.lateness":
            raise _useless_error(
                f"'{name}' applies to event-time windows, and this query has none.", item
            )
        raise _useless_error(f"'{name}' does not apply to {kind.name}: {kind.late_reason}.", item)


def _applies_to_table_join(name: str, kinds: tuple[OperatorProperties, ...]) -> bool:
    return name == "join.type" and TABLE_JOIN in kinds


def _misplaced_error(cause: str, what: str, item: Property) -> PropertyError:
    fix = f"Set it on the query with the {what}."
    return PropertyError("MS-PROP-UNUSED", cause, fix=fix, place=item.place)


def _useless_error(cause: str, item: Property) -> PropertyError:
    return PropertyError("MS-PROP-UNUSED", cause, fix="Remove it.", place=item.place)


def resolve_late_policy(properties: Mapping[str, Property], sinks: Collection[str]) -> LatePolicy:
    policy, sink = properties.get("late.policy"), properties.get("late.sink")
    action = LateAction(policy.value.lower()) if policy else LateAction.DROP
    budget = _late_budget(properties, action)
    if sink is None:
        return LatePolicy(action, budget)
    if action is not LateAction.SIDE_OUTPUT:
        what = "dropped" if action is LateAction.DROP else "reassigned"
        raise PlanError(
            "MS-PLAN-LATE-SINK",
            f"'late.sink' names {sink.value}, but late rows are {what}.",
            fix="Add 'late.policy' = 'side_output'.",
            place=sink.place,
        )
    known = next((name for name in sinks if same(name, sink.value)), None)
    if known is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-SINK",
            f"'late.sink' names {sink.value}, which is not declared.",
            fix=nearest(sink.value, sinks) or f"Add CREATE SINK {sink.value} WITH (…);",
            place=sink.value_place,
        )
    return LatePolicy(action, sink=known)


def _late_budget(properties: Mapping[str, Property], action: LateAction) -> int:
    budget = properties.get("late.budget")
    if action is LateAction.REASSIGN:
        if budget is None:
            raise PlanError(
                "MS-PLAN-LATE-BUDGET",
                "'late.policy' = 'reassign' needs a maximum lateness.",
                fix="Add 'late.budget' = '1m'; rows that are later are dropped.",
                place=properties["late.policy"].place,
            )
        return parse_span(budget.value)
    if budget is not None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'late.budget' limits the lateness of reassigned rows, and late rows are not "
            "reassigned.",
            fix="Add 'late.policy' = 'reassign'.",
            place=budget.place,
        )
    return 0


def resolve_lateness(properties: Mapping[str, Property]) -> int:
    given = properties.get("window.lateness")
    return parse_span(given.value) if given else 0


def resolve_state_ttl(
    properties: Mapping[str, Property],
    cause: str,
    time: str | None,
    of: str,
    place: Place | None,
    node: Source | Select,
    alternative: str = "",
) -> int | None:
    """Returns the retention of state; None for 'forever'.

    `cause` describes the state that would be unbounded; `of` and `node` are the name and the node
    of the stream whose event time is `time`; `alternative` is a clause that bounds the state."""
    given = properties.get("state.ttl")
    if given is None:
        raise PlanError(
            "MS-PLAN-UNBOUNDED",
            cause,
            fix=f"Add {alternative and f'{alternative}, or '}WITH ('state.ttl' = '1d'), or "
            "'forever' if the state may grow without bound.",
            place=place,
        )
    if given.value.lower() == "forever":
        return None
    if time is None:
        why, fix = missing_time_reason(of, node) or (
            f"{of} has no event time",
            f"Declare a watermark in the source and select its column in {of}",
        )
        raise PlanError(
            "MS-PLAN-NO-WATERMARK",
            f"'state.ttl' depends on the watermark, and {why}.",
            fix=f"{fix}, or write 'state.ttl' = 'forever'.",
            place=given.place,
        )
    return parse_span(given.value)


def resolve_state_limit(properties: Mapping[str, Property]) -> StateLimit:
    def number(name: str) -> int | None:
        found = properties.get(name)
        return int(found.value) if found else None

    max_rows, max_bytes = number("state.max_rows"), number("state.max_bytes")
    on_limit = properties.get("state.on_limit")
    if on_limit is None:
        return StateLimit(max_rows, max_bytes)
    if max_rows is None and max_bytes is None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'state.on_limit' applies to a limit of state, and none is set.",
            fix="Add 'state.max_rows' or 'state.max_bytes'.",
            place=on_limit.place,
        )
    return StateLimit(max_rows, max_bytes, OnLimit(on_limit.value.lower()))
