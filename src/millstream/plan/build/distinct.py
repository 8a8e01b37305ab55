"""Plans SELECT DISTINCT and DISTINCT ON: the first row of each key."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.emit import resolve_emit
from millstream.plan.build.operator_input import OperatorInput
from millstream.plan.build.query_options import (
    QueryOptions,
    reject_unused_properties,
    resolve_late_policy,
    resolve_state_limit,
    resolve_state_ttl,
)
from millstream.plan.expressions import Expression
from millstream.plan.kinds.operator_properties import DISTINCT, TIMELESS_DISTINCT
from millstream.plan.nodes import Deduplicate, Select
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.event_time import reject_retractions
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.select_list import (
    SelectItem,
    find_time_output,
    read_outputs,
    require_distinct_names,
)
from millstream.temporal import LateAction


def plan_distinct(tree: exp.Select, stream: OperatorInput, options: QueryOptions) -> Select:
    properties, place = options.properties, options.place
    kind = DISTINCT if stream.time else TIMELESS_DISTINCT
    reject_unused_properties(properties, kind, *options.kinds)
    reject_retractions(stream.node, stream.name, "DISTINCT", stream.place or place)
    resolve_emit(options.emit, windowed=False, text=stream.text)
    items = list(read_outputs(tree, ExpressionReader(stream.output_scope)))
    keys = _keys(tree, stream)
    late = resolve_late_policy(properties if stream.time else {}, options.sinks)
    unit = "row" if _on(tree) is None else "key"
    cause = f"the state would keep every {unit} of {stream.name} forever."
    within = resolve_state_ttl(properties, cause, stream.time, stream.name, place, stream.node)
    used = stream.used(items, late.action is LateAction.SIDE_OUTPUT)
    return Select(
        input=Deduplicate(
            stream.input(stream.time, used),
            keys,
            within,
            late,
            resolve_state_limit(properties),
            place,
        ),
        outputs=require_distinct_names(items, stream.output_scope, place),
        time=find_time_output(items, ((0, stream.time),)),
        window=_window(items, stream),
        place=place,
    )


def _on(tree: exp.Select) -> exp.Expr | None:
    on: exp.Expr | None = tree.args["distinct"].args.get("on")
    return on


def _keys(tree: exp.Select, stream: OperatorInput) -> tuple[Expression, ...]:
    on = _on(tree)
    if on is None:
        return tuple(
            dict.fromkeys(
                item.output.expression for item in read_outputs(tree, stream.input_expressions)
            )
        )
    keys = []
    nodes = on.expressions if isinstance(on, exp.Tuple) else [on]
    for node in nodes:
        stream.input_expressions.check(node)
        key = stream.input_expressions.read(node)
        if key is None:
            raise not_supported("this key", place_of(node, stream.text))
        keys.append(key)
    if not keys:
        raise PlanError(
            "MS-PLAN-GROUP",
            "DISTINCT ON has no key.",
            fix="Write DISTINCT ON (column, …).",
            place=place_of(on, stream.text, place_of(tree, stream.text)),
        )
    return tuple(dict.fromkeys(keys))


def _window(items: list[SelectItem], stream: OperatorInput) -> tuple[str, str] | None:
    if stream.window is None:
        return None
    start, end = (find_time_output(items, ((0, name),)) for name in stream.window)
    return (start, end) if start and end else None
