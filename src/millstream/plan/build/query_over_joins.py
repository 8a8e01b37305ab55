"""Plans a query over the joins of its FROM clause: its select list or its operator.

With EMIT FINAL, the pairs of a window join wait until their window closes. They wait in an
over-aggregate without calls: a row leaves it once the watermark has passed the row's time, which is
the last microsecond of the window. It is partitioned by a hash of the join's key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from millstream.errors import Place, PropertyError
from millstream.plan.build.emit import final_without_window_error
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.event_times import WINDOW
from millstream.plan.build.operator_input import JOINED, input_from_join
from millstream.plan.build.query_operator import QueryOperator, plan_operator
from millstream.plan.build.query_options import (
    QueryOptions,
    has_late_side_output,
    reject_unused_properties,
    resolve_state_limit,
)
from millstream.plan.expressions import column, join_with_and, template
from millstream.plan.kinds import join_kind_of
from millstream.plan.kinds.operator_properties import TABLE_JOIN, OperatorProperties
from millstream.plan.nodes import (
    WINDOW_TIME,
    Join,
    JoinKind,
    Key,
    Output,
    RowsOver,
    Select,
    TableJoin,
)
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.names import unused_name
from millstream.plan.resolve.select_list import (
    find_time_output,
    read_outputs,
    require_distinct_names,
)
from millstream.plan.resolve.window_time import (
    find_time_column,
    other_time_error,
    reject_processing_time,
)
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import Emit, Window


def resolve_join_emit(operator: QueryOperator, options: QueryOptions) -> Emit:
    """Returns EMIT of the joins of a query: FINAL unless a query without operator sets it."""
    changes = (
        operator is QueryOperator.NONE
        and options.emit is not None
        and options.emit.name == "CHANGES"
    )
    return Emit.CHANGES if changes else Emit.FINAL


def plan_over_joins(
    tree: exp.Select,
    planned: PlannedJoin,
    operator: QueryOperator,
    aggregate_window: Window | None,
    options: QueryOptions,
    text: SourceText,
) -> Select:
    """Plans a query over its joins; `aggregate_window` is the window of its aggregate."""
    joins = _joins(planned)
    _reject_other_join_type(options.properties, [_join_kind(join) for join in joins])
    kinds = tuple(dict.fromkeys(_properties_of(join) for join in joins))
    if operator is not QueryOperator.NONE:
        if aggregate_window is not None:
            planned = _with_window_time(tree.args.get("stream_window"), planned, text)
        stream = input_from_join(tree, planned, text, every=has_late_side_output(options))
        return plan_operator(
            tree, operator, stream, aggregate_window, replace(options, kinds=kinds)
        )
    reject_unused_properties(options.properties, *kinds)
    final = options.emit is not None and options.emit.name == "FINAL"
    if final and not _emits_at_window_end(planned):
        return plan_final_window_join(tree, planned, options, text)
    return _select_from_join(tree, planned, options.place)


def _with_window_time(
    clause: exp.Expr | None, planned: PlannedJoin, text: SourceText
) -> PlannedJoin:
    """Returns the join with the event time that the window of the aggregate names, if any."""
    column = find_time_column(clause)
    if clause is None or column is None:
        return planned
    reject_processing_time(clause, column, text)
    found = planned.scope.resolve(column)
    numbers = [number for number in planned.result_times if number != WINDOW]
    known = {(number, planned.times.columns[number]): number for number in numbers}
    if found.has_fields or found.origin not in known:
        relations = planned.scope.relations
        times = [relations[number].display_sql(name) for number, name in known] or [WINDOW_TIME]
        written = ".".join(part.name for part in column.parts)
        raise other_time_error(written, "the join", times, clause, place_of(column, text))
    number = known[found.origin]
    others = [other for other in planned.time_order if other != number]
    return replace(planned, time_order=(number, *others))


def _joins(planned: PlannedJoin) -> list[Join | TableJoin]:
    """Returns the joins of a query in their order."""
    below = _joins(planned.below.planned) if planned.below else []
    return [*below, planned.join]


def _emits_at_window_end(planned: PlannedJoin) -> bool:
    """Tests whether the join itself emits rows when their window closes."""
    while isinstance(planned.join, TableJoin) and planned.below is not None:
        planned = planned.below.planned
    join = planned.join
    return not isinstance(join, TableJoin) and join_kind_of(join).emit(join) is Emit.FINAL


def _join_kind(join: Join | TableJoin) -> JoinKind:
    return JoinKind.LOOKUP if isinstance(join, TableJoin) else join_kind_of(join).type


def _properties_of(join: Join | TableJoin) -> OperatorProperties:
    return TABLE_JOIN if isinstance(join, TableJoin) else join_kind_of(join).properties(join)


def _select_from_join(tree: exp.Select, planned: PlannedJoin, place: Place | None) -> Select:
    expressions = ExpressionReader(planned.scope)
    outputs = list(read_outputs(tree, expressions))
    time = planned.event_time_output(outputs)
    reads = {read for output in outputs for read in output.reads}
    return Select(
        input=planned.with_used_columns(reads),
        outputs=require_distinct_names(outputs, planned.scope, place),
        where=join_with_and(planned.where),
        time=time,
        window=planned.window(outputs),
        place=place,
    )


def reject_impossible_join_type(properties: Mapping[str, Property], kinds: list[JoinKind]) -> None:
    """Rejects a 'join.type' that no join of the query can have, by its syntax."""
    may_be = [JoinKind.REGULAR] if JoinKind.INTERVAL in kinds else []  # depends on its bounds
    _reject_other_join_type(properties, kinds + may_be)


def _reject_other_join_type(properties: Mapping[str, Property], kinds: list[JoinKind]) -> None:
    given = properties.get("join.type")
    if given is None or JoinKind(given.value.lower()) in kinds:
        return
    raise PropertyError(
        "MS-PROP-UNUSED",
        f"'join.type' is '{given.value}', but the type of the join is '{kinds[0]}'.",
        fix=_TYPES[JoinKind(given.value.lower())],
        place=given.value_place,
    )


_TYPES = {
    JoinKind.INTERVAL: "Remove it.",
    JoinKind.WINDOW: "Add WINDOW TUMBLING(…), SLIDING(…) or SESSION(…), or remove it.",
    JoinKind.TEMPORAL: "Write FOR SYSTEM_TIME AS OF after the table, or remove it.",
    JoinKind.LOOKUP: "Join a table without WATERMARK, or remove it.",
    JoinKind.REGULAR: "Remove the bound and add 'state.ttl', or remove it.",
}


_KEY_HASH = "_key_hash"


def plan_final_window_join(
    tree: exp.Select, planned: PlannedJoin, options: QueryOptions, text: SourceText
) -> Select:
    assert options.emit is not None
    join = planned.join
    if WINDOW not in planned.times.non_null:
        raise final_without_window_error(options.emit, text)
    sides = [0] if not join.how.preserves_right else [0, 1] if join.how.preserves_left else [1]
    reads = {read for read in planned.key_reads if read[0] in sides}
    with_keys = replace(planned, reads=planned.reads | reads, time_order=(WINDOW,))
    stream = input_from_join(tree, with_keys, text, every=False)
    assert isinstance(stream.node, Select)
    keys = [
        key.right if side == 1 and isinstance(key, Key) else key.left
        for side in sides
        for key in planned.keys
    ]
    name = unused_name(_KEY_HASH, (output.name for output in stream.node.outputs))
    listed = ", ".join("{}" for _ in keys)
    hashed = Output(template(f"xxhash64({listed})", *keys, kind="BIGINT"), name)
    node = replace(stream.node, outputs=(*stream.node.outputs, hashed))
    stream = replace(stream, node=node)
    items = list(read_outputs(tree, ExpressionReader(stream.output_scope)))
    used = tuple(name for name in stream.used(items, every=False) if name != hashed.name)
    waiting = RowsOver(
        input=stream.input(stream.time, used),
        partition=(column(JOINED, hashed.name, hashed.type),),
        preceding=0,
        calls=(),
        limit=resolve_state_limit(options.properties),
        place=options.place,
    )
    shown = tuple(find_time_output(items, ((0, name),)) for name in stream.window or ())
    return Select(
        input=waiting,
        outputs=require_distinct_names(items, stream.output_scope, options.place),
        time=find_time_output(items, ((0, stream.time),)),
        window=(shown[0], shown[1]) if len(shown) == 2 and shown[0] and shown[1] else None,
        place=options.place,
    )
