"""ROW_NUMBER() and the filter that makes it a TopN.

The filter stands in QUALIFY, or in WHERE of the query around. So a query with ROW_NUMBER() alone
becomes a Ranking, which the query around finishes; one that nobody finishes is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.emit import emit_of
from millstream.plan.build.joins.conjuncts import conjuncts_of, filters_of
from millstream.plan.build.operator_input import Base, of_sessions
from millstream.plan.build.policies import late_policy, limit_of, refuse_unused, ttl_of
from millstream.plan.build.query_options import Asked
from millstream.plan.build.row_number_limit import Limit, limit_in
from millstream.plan.build.window_frames import Frame, frame_of, over_nodes
from millstream.plan.expressions import Expression, all_of, column
from millstream.plan.kinds import kind_of
from millstream.plan.kinds.operator_properties import TOP, TOP_OF_WINDOW, OperatorProperties
from millstream.plan.nodes import Column, Join, Output, Select, Source, TopN
from millstream.plan.nodes.traversal import bottom_of, operators_of
from millstream.plan.reject import place_of
from millstream.plan.resolve.aliases import with_aliases
from millstream.plan.resolve.event_time import (
    needs_time,
    refuse_forgetting,
    refuse_late_changes,
    staying,
)
from millstream.plan.resolve.expressions import Expressions, Replace
from millstream.plan.resolve.names import fresh
from millstream.plan.resolve.scope import Reference, Relation, Scope
from millstream.plan.resolve.select_list import Item, carrying, distinct, outputs_of
from millstream.sql.spans import span_of
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import Emit, LateAction

_RANK = "_rank"


@dataclass(frozen=True, slots=True)
class Ranking(TopN):
    """Numbered rows whose limit is not known yet, with what their own query asks."""

    name: str = ""  # of the input
    time_of_window: bool = False  # are its rows results of the window they are numbered in?
    properties: Mapping[str, Property] = field(default_factory=dict)
    emit_clause: exp.Expr | None = None
    kinds: tuple[OperatorProperties, ...] = ()


def plan_ranking(tree: exp.Select, base: Base, asked: Asked) -> Select:
    nodes = over_nodes(tree)
    frames = [frame_of(node, tree, base.below) for node in nodes]
    if any(replace(frame, spec=None) != replace(frames[0], spec=None) for frame in frames):
        raise _refused(
            "the query numbers rows in two ways.",
            "Put one of them in a query in FROM.",
            place_of(nodes[-1], base.text),
        )
    frame, place = frames[0], place_of(nodes[0], base.text)
    if not frame.order:
        fix = "Add ORDER BY to its OVER."
        raise _refused("ROW_NUMBER() has no order, so its numbers mean nothing.", fix, place)
    refuse_forgetting(base.node, base.name, base.place or place)
    columns = [each.name for each in base.node.columns]
    rank = fresh(_own_alias(tree) or _RANK, columns)
    expressions = Expressions(base.above, _replacing(rank))
    items = list(outputs_of(tree, expressions))
    terms, limit = _qualified(tree, items, expressions, rank)
    after = Expressions(with_aliases(base.above, items), _replacing(rank))
    reads = {name for item in items for _, name in item.reads}
    reads |= {name for term in terms for _, name in after.reads(term)}
    used = base.columns(reads - {rank}, _keeps_late(asked.properties))
    select = Select(
        input=Ranking(
            input=base.input(base.time, used),
            partition=frame.partition,
            order=frame.order,
            n=0,
            rank=rank if rank in reads else None,
            due=_due(frame, base),
            over_changes=base.over_changes,
            place=place,
            name=base.name,
            time_of_window=_of_window(base),
            properties=asked.properties,
            emit_clause=asked.emit,
            kinds=asked.kinds,
        ),
        outputs=distinct(items, base.above, asked.place),
        where=all_of(filters_of(terms, after)),
        time=carrying(items, ((0, base.time),)) if base.time else None,
        window=_window(items, base),
        place=asked.place,
    )
    return select if limit is None else _finished(select, limit, asked, base.text)


def _keeps_late(properties: Mapping[str, Property]) -> bool:
    policy = properties.get("late.policy")
    return policy is not None and policy.value.lower() == LateAction.SIDE_OUTPUT


def _own_alias(tree: exp.Select) -> str | None:
    for item in tree.expressions:
        if isinstance(item, exp.Alias) and isinstance(item.this, exp.Window):
            return item.alias
    return None


def _replacing(rank: str) -> Replace:
    def replaced(node: exp.Expr) -> Reference | None:
        span = span_of(node)
        if span is None or not isinstance(node, exp.Window):
            return None
        number = column(None, rank, "INT")
        return Reference(number, *span, ((0, rank),), Column(rank, "INT"), False)

    return replaced


def _qualified(
    tree: exp.Select, items: list[Item], expressions: Expressions, rank: str
) -> tuple[list[exp.Expr], Limit | None]:
    """What QUALIFY filters by, and the limit it sets."""
    qualify = tree.args.get("qualify")
    if qualify is None:
        return [], None
    named = {item.output.name.lower() for item in items if item.bare and _is_rank(item, rank)}

    def is_rank(node: exp.Expr) -> bool:
        if isinstance(node, exp.Column):
            return len(node.parts) == 1 and node.name.lower() in named
        return isinstance(node, exp.Window)

    text = expressions.scope.text
    terms, limit = limit_in(list(conjuncts_of(qualify.this)), is_rank, text)
    if limit is None:
        raise _unlimited(place_of(qualify, text))
    return terms, limit


def _is_rank(item: Item, rank: str) -> bool:
    return item.bare is not None and item.bare.reads == ((0, rank),)


def _due(frame: Frame, base: Base) -> Expression | None:
    """The end of the window, if rows are numbered by window."""
    if base.window is None:
        return None
    (relation,) = base.below.scope.relations
    moments = [relation.refer(name) for name in base.window]
    asked = set(moments) & set(frame.partition)
    if asked and moments[1] not in asked and of_sessions(base):
        raise PlanError(
            "MS-PLAN-WINDOW",
            "sessions that start together need not end together, and PARTITION BY has their start "
            "alone.",
            fix="Partition by their end, or by both.",
            place=base.place,
        )
    return moments[1] if asked else None


def _of_window(base: Base) -> bool:
    below = bottom_of(base.node)
    return not isinstance(below, Source | Join) and kind_of(below).window(below) is not None


def _window(items: list[Item], base: Base) -> tuple[str, str] | None:
    if base.window is None:
        return None
    start, end = (carrying(items, ((0, name),)) for name in base.window)
    return (start, end) if start and end else None


def limited(
    tree: exp.Select, relation: Relation, terms: list[exp.Expr], text: SourceText, asked: Asked
) -> tuple[Relation, list[exp.Expr]] | None:
    """The numbered rows that a query reads, finished by the limit in its WHERE; and what else
    WHERE says."""
    node = relation.node
    ranking = node.input if isinstance(node, Select) else None
    if not isinstance(node, Select) or not isinstance(ranking, Ranking):
        return None
    number = next((o.name for o in node.outputs if _is(o, ranking.rank)), None)
    expressions = Expressions(Scope((relation,), text))

    def is_rank(part: exp.Expr) -> bool:
        bare = expressions.bare(part) if isinstance(part, exp.Column) else None
        return bare is not None and bare.reads == ((0, number),)

    left, limit = limit_in(terms, is_rank, text)
    if limit is None:
        raise _unlimited(ranking.place)
    reads = {name for item in outputs_of(tree, expressions) for _, name in item.reads}
    reads |= {name for term in left for _, name in expressions.reads(term)}
    if number not in reads:
        shown = tuple(output for output in node.outputs if output.name != number)
        node = replace(node, outputs=shown, input=replace(ranking, rank=None))
    return replace(relation, node=_finished(node, limit, asked, text)), left


def _is(output: Output, name: str | None) -> bool:
    return name is not None and output.expression.column_of(None) == name


def _finished(select: Select, limit: Limit, asked: Asked, text: SourceText) -> Select:
    ranking = select.input
    assert isinstance(ranking, Ranking)
    properties = {**ranking.properties, **asked.properties}
    emit = emit_of(asked.emit or ranking.emit_clause, windowed=ranking.due is not None, text=text)
    final = emit is Emit.FINAL
    kinds = dict.fromkeys((TOP_OF_WINDOW if final else TOP, *ranking.kinds, *asked.kinds))
    refuse_unused(properties, *kinds)
    source, time, place = ranking.input, ranking.input.time, ranking.place
    ttl = None
    if final:
        needs_time(ranking.name, source.node, time, place)
    elif ranking.partition or ranking.over_changes or "state.ttl" in properties:
        cause = f"the first rows of every partition of {ranking.name} would be kept for ever."
        ttl = ttl_of(properties, cause, time, ranking.name, place, source.node)
    late = late_policy(properties if final else {}, asked.sinks)
    if ranking.over_changes:
        way_out = staying(source.node, ranking.name)
        refuse_late_changes(late, properties, ranking.name, way_out)
    if late.action is LateAction.SIDE_OUTPUT:
        source = replace(source, used=tuple(each.name for each in source.node.columns))
    top = TopN(
        input=source,
        partition=ranking.partition,
        order=ranking.order,
        n=limit.n,
        rank=ranking.rank,
        due=ranking.due if final else None,
        emit=emit,
        ttl=ttl,
        over_changes=ranking.over_changes,
        late=late,
        limit=limit_of(properties),
        place=place,
    )
    in_time = final and ranking.time_of_window
    return replace(select, input=top, time=select.time if in_time else None)


def refuse_unlimited(root: Select) -> None:
    for operator in operators_of(root):
        if isinstance(operator, Ranking):
            raise _unlimited(operator.place)


def _unlimited(place: Place | None) -> PlanError:
    return _refused(
        "ROW_NUMBER() has no limit, so every row would be kept and numbered anew for ever.",
        "Keep the first ones: WHERE n <= 10 in the query around this one, n being the number's "
        "name, or QUALIFY ROW_NUMBER() OVER (…) <= 10.",
        place,
    )


def _refused(cause: str, fix: str, place: Place | None) -> PlanError:
    return PlanError("MS-PLAN-TOP-N", cause, fix=fix, place=place)
