"""Which engine runs a pipeline, and why that one."""

from __future__ import annotations

from millstream.errors import Place, PlanError
from millstream.plan.facts.joins import needed_retention
from millstream.plan.facts.orders import refuse_struct_order
from millstream.plan.nodes import (
    Aggregate,
    BoundedJoin,
    Deduplicate,
    Engine,
    IntervalJoin,
    Join,
    Operator,
    Pipeline,
    RegularJoin,
    RowsOver,
    SessionJoin,
    Source,
    TemporalJoin,
    TopN,
    WindowJoin,
)
from millstream.plan.walk import operators_of, sources_of, table_joins_of
from millstream.temporal import Emit, LateAction, WindowKind
from millstream.values import JoinType

_ONLY_SPARK = "only Spark can decide a predicate of ON that decides matching"
_SKETCHES = ("approx_count_distinct", "approx_percentile")


def choose_engine(pipeline: Pipeline) -> tuple[Engine, str]:
    """The engine that runs a pipeline, and why that one."""
    operators = operators_of(pipeline.root)
    asked = pipeline.engine
    if not operators:
        reason = "the query keeps no state, so Spark runs it as it stands under either engine"
        return (Engine.NATIVE if asked is Engine.AUTO else asked), reason
    no_columnar = _against_columnar(operators)
    no_native = _against_native(operators, sources_of(pipeline.root))
    if not no_native and table_joins_of(pipeline.root):
        no_native = "Spark's operators hand on nothing of what a table join says beside its rows"
    if asked is not Engine.NATIVE:
        refuse_struct_order(operators, native=not no_native)
    if asked is Engine.COLUMNAR and no_columnar:
        raise _refused(operators, "columnar", no_columnar)
    if asked is Engine.NATIVE and no_native:
        raise _refused(operators, "native", no_native)
    if asked is not Engine.AUTO:
        return asked, "asked for by 'engine'"
    if not no_columnar:
        return Engine.COLUMNAR, _why_columnar(operators)
    if no_native:
        raise PlanError(
            "MS-PLAN-ENGINE",
            f"no engine can run {_called(operators)}: for the columnar one, {no_columnar}; "
            f"for the native one, {no_native}.",
            fix="Give up one of the two.",
            place=_place(operators),
        )
    return Engine.NATIVE, no_columnar


def _why_columnar(operators: tuple[Operator, ...]) -> str:
    if all(isinstance(operator, Join) for operator in operators):
        return "rows are joined by key group against columnar state"
    return "rows are taken by key group against columnar state"


def _against_columnar(operators: tuple[Operator, ...]) -> str:
    for operator in operators:
        join = operator if isinstance(operator, BoundedJoin | RegularJoin) else None
        if join and join.only_spark and join.how is not JoinType.INNER:
            return _ONLY_SPARK
    return ""


def _against_native(operators: tuple[Operator, ...], sources: tuple[Source, ...]) -> str:
    """Why Spark's own operators cannot run this; empty if they can."""
    if len(operators) > 1:
        return "there is more than one operator with state, and Spark's cannot hand on watermarks"
    (operator,) = operators
    match operator:
        case IntervalJoin() | WindowJoin():
            found = _against_native_join(operator)
        case TemporalJoin():
            found = "Spark has no temporal join of streams"
        case SessionJoin():
            found = "Spark has no join of sessions"
        case RegularJoin():
            found = "Spark has no join that lets rows go by 'state.ttl' or takes pairs back"
        case Aggregate():
            found = _against_native_aggregate(operator)
        case Deduplicate():
            found = "it has no DISTINCT"
        case TopN():
            found = "Spark has no first rows of a partition for streams"
        case RowsOver():
            found = "Spark has no OVER (… ROWS …) for streams"
    return found or _against_native_sources(sources)


def _against_native_sources(sources: tuple[Source, ...]) -> str:
    if any(source.idle is not None for source in sources):
        return "Spark's watermark waits for a silent source, whatever 'idle.timeout' says"
    if any(source.watermark and source.watermark.every > 1 for source in sources):
        return "Spark's watermark advances with every row, not by 'watermark.every'"
    if any(source.max_ahead for source in sources):
        return "Spark cannot reject rows by 'watermark.max_ahead'"
    return ""


def _against_native_join(join: BoundedJoin) -> str:
    if join.salt > 1:
        return "Spark spreads rows by their key alone"
    if isinstance(join, WindowJoin):
        return "Spark's join of streams keeps rows by their own times, not until a window closes"
    if join.how is JoinType.ANTI:
        return "Spark has no LEFT ANTI join of two streams"
    if late := _against_late(join):
        return late
    if join.retention is not None and join.retention > needed_retention(join):
        return "Spark keeps rows for as long as the bound needs, not for 'join.retention'"
    return ""


def _against_late(operator: Operator) -> str:
    if operator.late.action is LateAction.SIDE_OUTPUT:
        return "Spark drops late rows before they can be put out"
    if operator.late.action is LateAction.REASSIGN:
        return "Spark drops late rows before they can get another time"
    if operator.limit.max_rows is not None or operator.limit.max_bytes is not None:
        what = "a join" if isinstance(operator, Join) else "an operator"
        return f"Spark cannot limit the state of {what}"
    return ""


def _against_native_aggregate(aggregate: Aggregate) -> str:
    window = aggregate.window
    if window is None or aggregate.emit is Emit.CHANGES:
        return "Spark tells changed rows without the old ones"
    if window.kind is WindowKind.GIVEN:
        return "Spark cannot close windows that rows come with"
    if window.wall_clock:
        return "Spark's windows go by event time"
    if window.kind is WindowKind.SESSION and not aggregate.keys:
        return "Spark has no sessions without a key"
    if aggregate.lateness:
        return "Spark drops late rows, and does not fire a window again"
    return _against_late(aggregate) or _against_calls(aggregate)


def _against_calls(aggregate: Aggregate) -> str:
    for call in aggregate.calls:
        if call.function in ("first", "last"):
            return f"Spark's own {call.function} goes by arrival, not by event time"
        if call.function in _SKETCHES:
            return f"Spark's own {call.function} has another sketch, with other results"
        if call.function == "count_distinct":
            return "Spark has no COUNT(DISTINCT …) over streams"
    return ""


def _called(operators: tuple[Operator, ...]) -> str:
    only_join = len(operators) == 1 and isinstance(operators[0], Join)
    return "this join" if only_join else "this query"


def _place(operators: tuple[Operator, ...]) -> Place | None:
    return next((operator.place for operator in operators if operator.place), None)


def _refused(operators: tuple[Operator, ...], engine: str, reason: str) -> PlanError:
    other = "native" if engine == "columnar" else "columnar"
    return PlanError(
        "MS-PLAN-ENGINE",
        f"the {engine} engine cannot run {_called(operators)}: {reason}.",
        fix=f"Leave 'engine' out, or try '{other}'.",
        place=_place(operators),
    )
