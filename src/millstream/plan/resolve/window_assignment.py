"""Assigns windows to rows with Spark expressions, for WINDOW without an aggregate.

With tumbling windows a row is in one window; with sliding windows it is repeated for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.errors import Place, PlanError
from millstream.plan.expressions import template
from millstream.plan.nodes import WINDOW_END, WINDOW_START, Output, Select
from millstream.plan.resolve.event_time import require_event_time
from millstream.plan.resolve.names import unused_name
from millstream.plan.resolve.scope import Relation
from millstream.plan.resolve.system_columns import source_of, with_system_columns
from millstream.temporal import Window, WindowKind
from millstream.values import Pane

_STARTS = "_window_starts"


def assign_windows(
    relation: Relation,
    window: Window,
    place: Place | None,
    moments: Mapping[str, int] | None = None,
) -> Relation:
    """Returns the stream with `_window_start` and `_window_end`.

    `moments` are more columns, by name: microseconds after the window's end.
    """
    after = {} if moments is None else dict(moments)
    if window.kind is WindowKind.SESSION or window.wall_clock:
        what = "the end of a session" if not window.wall_clock else "processing time"
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{what} is only available in an aggregate, and this query has none.",
            fix="Add GROUP BY and aggregates, or use TUMBLING or SLIDING windows of event time.",
            place=place,
        )
    time = require_event_time(relation.name, relation.node, relation.time, relation.place or place)
    node = with_system_columns(relation.node, {time})
    is_source = source_of(node) is not None
    columns = tuple(
        Output(relation.refer(column.name, column.type), column.name)
        for column in node.columns
        if column.name.lower() not in (WINDOW_START, WINDOW_END, *after)
    )
    micros = template("unix_micros({})", relation.refer(time))
    since = template("{} - {}", micros, window.offset) if window.offset else micros
    last = template("{} - pmod({}, {})", micros, since, window.slide)
    if window.kind is WindowKind.TUMBLING:
        pane = Pane(time, window.slide, window.offset)
        spans = {WINDOW_START: 0, WINDOW_END: window.size}
        spans |= {name: window.size + span for name, span in after.items()}
        made = tuple(
            Output(
                template("timestamp_micros({} + {})", last, span, kind="TIMESTAMP")
                if span
                else template("timestamp_micros({})", last, kind="TIMESTAMP"),
                name,
                replace(pane, after=span),
            )
            for name, span in spans.items()
        )
        outputs = (*columns, *made)
        below = Select(
            node, outputs, alias=relation.alias, time=time, place=place, is_source=is_source
        )
    else:
        count = window.size // window.slide
        each = f"_nth -> timestamp_micros({{}} - _nth * {window.slide}L)"
        name = unused_name(_STARTS, (column.name for column in columns))
        panes = template(f"transform(sequence(0, {{}}), {each})", count - 1, last)
        starts = Output(panes, name)
        inner = Select(
            node,
            (*columns, starts),
            alias=relation.alias,
            time=time,
            place=place,
            is_source=is_source,
        )
        below = _explode_windows(inner, relation, window, after)
    return replace(relation, node=replace(below, window=(WINDOW_START, WINDOW_END)))


def _explode_windows(
    inner: Select, relation: Relation, window: Window, after: Mapping[str, int]
) -> Select:
    """Returns one row per window. A row without a time has no window and is returned once."""
    own = inner.outputs[:-1]
    columns = tuple(Output(relation.refer(o.name, o.type), o.name) for o in own)
    starts = relation.refer(inner.outputs[-1].name)
    exploded = template("explode_outer({})", starts, kind="TIMESTAMP")
    middle = Select(
        inner,
        (*columns, Output(exploded, WINDOW_START)),
        alias=relation.alias,
        time=inner.time,
        place=inner.place,
        is_source=inner.is_source,
    )
    start = relation.refer(WINDOW_START, "TIMESTAMP")
    spans = {WINDOW_END: window.size}
    spans |= {name: window.size + span for name, span in after.items()}
    later = (
        Output(
            template("timestamp_micros(unix_micros({}) + {})", start, span, kind="TIMESTAMP"), name
        )
        for name, span in spans.items()
    )
    outputs = (*columns, Output(start, WINDOW_START), *later)
    return Select(
        middle,
        outputs,
        alias=relation.alias,
        time=inner.time,
        place=inner.place,
        is_source=inner.is_source,
    )
