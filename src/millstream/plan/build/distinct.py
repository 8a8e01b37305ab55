"""SELECT DISTINCT and DISTINCT ON: the first row of each key."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.emit import emit_of
from millstream.plan.build.operator_input import Base
from millstream.plan.build.policies import late_policy, limit_of, refuse_unused, ttl_of
from millstream.plan.build.query_options import Asked
from millstream.plan.expressions import Expression
from millstream.plan.kinds.operator_properties import DISTINCT, TIMELESS_DISTINCT
from millstream.plan.nodes import Deduplicate, Select
from millstream.plan.reject import not_yet, place_of
from millstream.plan.resolve.event_time import refuse_changes
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.select_list import Item, carrying, distinct, outputs_of
from millstream.temporal import LateAction


def plan_distinct(tree: exp.Select, base: Base, asked: Asked) -> Select:
    properties, place = asked.properties, asked.place
    kind = DISTINCT if base.time else TIMELESS_DISTINCT
    refuse_unused(properties, kind, *asked.kinds)
    refuse_changes(base.node, base.name, "DISTINCT", base.place or place)
    emit_of(asked.emit, windowed=False, text=base.text)
    items = list(outputs_of(tree, Expressions(base.above)))
    keys = _keys(tree, base)
    late = late_policy(properties if base.time else {}, asked.sinks)
    cause = f"every {'row' if _on(tree) is None else 'key'} of {base.name} would be kept for ever."
    within = ttl_of(properties, cause, base.time, base.name, place, base.node)
    used = base.used(items, late.action is LateAction.SIDE_OUTPUT)
    return Select(
        input=Deduplicate(
            base.input(base.time, used), keys, within, late, limit_of(properties), place
        ),
        outputs=distinct(items, base.above, place),
        time=carrying(items, ((0, base.time),)),
        window=_window(items, base),
        place=place,
    )


def _on(tree: exp.Select) -> exp.Expr | None:
    on: exp.Expr | None = tree.args["distinct"].args.get("on")
    return on


def _keys(tree: exp.Select, base: Base) -> tuple[Expression, ...]:
    on = _on(tree)
    if on is None:
        return tuple(dict.fromkeys(item.output.expression for item in outputs_of(tree, base.below)))
    keys = []
    nodes = on.expressions if isinstance(on, exp.Tuple) else [on]
    for node in nodes:
        base.below.check(node)
        key = base.below.read(node)
        if key is None:
            raise not_yet("this key", place_of(node, base.text))
        keys.append(key)
    if not keys:
        raise PlanError(
            "MS-PLAN-GROUP",
            "DISTINCT ON has no key.",
            fix="Write DISTINCT ON (column, …).",
            place=place_of(on, base.text, place_of(tree, base.text)),
        )
    return tuple(dict.fromkeys(keys))


def _window(items: list[Item], base: Base) -> tuple[str, str] | None:
    if base.window is None:
        return None
    start, end = (carrying(items, ((0, name),)) for name in base.window)
    return (start, end) if start and end else None
