"""A query over the joins of its FROM clause: its list, or the operator that its clauses ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from millstream.errors import Place, PropertyError
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.operator_input import of_join
from millstream.plan.build.operators import Shape, plan_operator
from millstream.plan.build.policies import refuse_unused
from millstream.plan.build.query_options import Asked, keeps_late
from millstream.plan.build.window_join_final import plan_final
from millstream.plan.expressions import all_of
from millstream.plan.join_kinds import JoinKind
from millstream.plan.kinds import join_kind_of
from millstream.plan.kinds.operator_properties import TABLE_JOIN, OperatorProperties
from millstream.plan.nodes import Join, Select, TableJoin
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.select_list import distinct, outputs_of
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import Emit, Window


def emit_of_joins(shape: Shape, asked: Asked) -> Emit:
    """EMIT of a join that can wait until its windows close. It does, unless the query says
    otherwise; EMIT of a query with an operator is for that."""
    changes = shape is Shape.PLAIN and asked.emit is not None and asked.emit.name == "CHANGES"
    return Emit.CHANGES if changes else Emit.FINAL


def plan_over_joins(
    tree: exp.Select,
    planned: PlannedJoin,
    shape: Shape,
    own: Window | None,
    asked: Asked,
    text: SourceText,
) -> Select:
    """`own` is the window of the query's aggregate."""
    joins = _joins(planned)
    _refuse_other_type(asked.properties, [_type_of(join) for join in joins])
    kinds = tuple(dict.fromkeys(_properties_of(join) for join in joins))
    if shape is not Shape.PLAIN:
        base = of_join(tree, planned, text, every=keeps_late(asked))
        return plan_operator(tree, shape, base, own, replace(asked, kinds=kinds))
    refuse_unused(asked.properties, *kinds)
    final = asked.emit is not None and asked.emit.name == "FINAL"
    if final and not _waits(planned):
        return plan_final(tree, planned, asked, text)
    return _over_join(tree, planned, asked.place)


def _joins(planned: PlannedJoin) -> list[Join | TableJoin]:
    """The joins of a query, in their order."""
    below = _joins(planned.below.planned) if planned.below else []
    return [*below, planned.join]


def _waits(planned: PlannedJoin) -> bool:
    """Do rows come out once their window is closed, by the join itself?"""
    while isinstance(planned.join, TableJoin) and planned.below is not None:
        planned = planned.below.planned
    join = planned.join
    return not isinstance(join, TableJoin) and join_kind_of(join).emit(join) is Emit.FINAL


def _type_of(join: Join | TableJoin) -> JoinKind:
    return JoinKind.LOOKUP if isinstance(join, TableJoin) else join_kind_of(join).type


def _properties_of(join: Join | TableJoin) -> OperatorProperties:
    return TABLE_JOIN if isinstance(join, TableJoin) else join_kind_of(join).properties(join)


def _over_join(tree: exp.Select, planned: PlannedJoin, place: Place | None) -> Select:
    expressions = Expressions(planned.scope)
    outputs = list(outputs_of(tree, expressions))
    time = planned.carried(outputs)
    reads = {read for output in outputs for read in output.reads}
    return Select(
        input=planned.used_by(reads),
        outputs=distinct(outputs, planned.scope, place),
        where=all_of(planned.where),
        time=time,
        window=planned.window(outputs),
        place=place,
    )


def refuse_type_as_written(properties: Mapping[str, Property], kinds: list[JoinKind]) -> None:
    """Refuse a 'join.type' that no join of the query can be, by its syntax."""
    may_be = [JoinKind.REGULAR] if JoinKind.INTERVAL in kinds else []  # its bounds tell
    _refuse_other_type(properties, kinds + may_be)


def _refuse_other_type(properties: Mapping[str, Property], kinds: list[JoinKind]) -> None:
    given = properties.get("join.type")
    if given is None or JoinKind(given.value.lower()) in kinds:
        return
    raise PropertyError(
        "MS-PROP-UNUSED",
        f"'join.type' is '{given.value}', but the join is of the type '{kinds[0]}'.",
        fix=_TYPES[JoinKind(given.value.lower())],
        place=given.value_place,
    )


_TYPES = {
    JoinKind.INTERVAL: "Leave it out.",
    JoinKind.WINDOW: "Add WINDOW TUMBLING(…), SLIDING(…) or SESSION(…), or leave it out.",
    JoinKind.TEMPORAL: "Write FOR SYSTEM_TIME AS OF after the table, or leave it out.",
    JoinKind.LOOKUP: "Join a table without WATERMARK, or leave it out.",
    JoinKind.REGULAR: "Leave the bound out and add 'state.ttl', or leave it out.",
}
