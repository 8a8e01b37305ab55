"""Plans ROW_NUMBER() with a filter on the row number as a TopN.

The filter is in QUALIFY, or in WHERE of the outer query. A query with ROW_NUMBER() and no filter
becomes a Ranking, which the outer query replaces by a TopN; a Ranking that remains is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.emit import resolve_emit
from millstream.plan.build.joins.conjuncts import read_filters, split_conjunction
from millstream.plan.build.operator_input import OperatorInput, has_session_windows
from millstream.plan.build.query_options import (
    QueryOptions,
    has_late_side_output,
    reject_unused_properties,
    resolve_late_policy,
    resolve_state_limit,
    resolve_state_ttl,
)
from millstream.plan.build.row_number_limit import RowLimit, extract_row_limit
from millstream.plan.build.window_spec import WindowSpec, find_window_functions, read_window_spec
from millstream.plan.expressions import Expression, column, join_with_and
from millstream.plan.kinds import kind_of
from millstream.plan.kinds.operator_properties import TOP, TOP_OF_WINDOW, OperatorProperties
from millstream.plan.nodes import Column, Join, Output, Select, Source, TopN, UnionAll
from millstream.plan.nodes.traversal import operators_of, upstream_of
from millstream.plan.reject import place_of
from millstream.plan.resolve.event_time import (
    reject_expiring_groups,
    reject_late_retractions,
    require_event_time,
    retraction_fix,
)
from millstream.plan.resolve.expressions import ExpressionReader, Replace
from millstream.plan.resolve.names import unused_name
from millstream.plan.resolve.scope import Relation, ResolvedName, Scope
from millstream.plan.resolve.select_list import (
    SelectItem,
    find_time_output,
    read_outputs,
    require_distinct_names,
    with_aliases,
)
from millstream.sql.spans import span_of
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import Emit, LateAction

_RANK = "_rank"


@dataclass(frozen=True, slots=True)
class Ranking(TopN):
    """A TopN whose limit is not known yet, with the options of its query."""

    name: str = ""  # the name of the input
    input_is_windowed: bool = False  # its rows are results of the same window
    properties: Mapping[str, Property] = field(default_factory=dict)
    emit_clause: exp.Expr | None = None
    kinds: tuple[OperatorProperties, ...] = ()


def plan_ranking(tree: exp.Select, stream: OperatorInput, options: QueryOptions) -> Select:
    nodes = find_window_functions(tree)
    frames = [read_window_spec(node, tree, stream.input_expressions) for node in nodes]
    if any(replace(frame, spec=None) != replace(frames[0], spec=None) for frame in frames):
        raise _top_n_error(
            "the query has two different ROW_NUMBER() windows.",
            "Compute one of them in a subquery.",
            place_of(nodes[-1], stream.text),
        )
    frame, place = frames[0], place_of(nodes[0], stream.text)
    if not frame.order:
        fix = "Add ORDER BY to OVER."
        raise _top_n_error("ROW_NUMBER() has no ORDER BY, so its result is undefined.", fix, place)
    reject_expiring_groups(stream.node, stream.name, stream.place or place)
    columns = [each.name for each in stream.node.columns]
    rank = unused_name(_rank_alias(tree) or _RANK, columns)
    expressions = ExpressionReader(stream.output_scope, _rank_replacement(rank))
    items = list(read_outputs(tree, expressions))
    terms, limit = _read_qualify(tree, items, expressions, rank)
    after = ExpressionReader(with_aliases(stream.output_scope, items), _rank_replacement(rank))
    reads = {name for item in items for _, name in item.reads}
    reads |= {name for term in terms for _, name in after.columns_read(term)}
    used = stream.columns(reads - {rank}, has_late_side_output(options))
    select = Select(
        input=Ranking(
            input=stream.input(stream.time, used),
            partition=frame.partition,
            order=frame.order,
            n=0,
            rank=rank if rank in reads else None,
            due=_window_end(frame, stream),
            over_changes=stream.over_changes,
            place=place,
            name=stream.name,
            input_is_windowed=reads_windowed_result(stream),
            properties=options.properties,
            emit_clause=options.emit,
            kinds=options.kinds,
        ),
        outputs=require_distinct_names(items, stream.output_scope, options.place),
        where=join_with_and(read_filters(terms, after)),
        time=find_time_output(items, ((0, stream.time),)) if stream.time else None,
        window=_window(items, stream),
        place=options.place,
    )
    return select if limit is None else build_top_n(select, limit, options, stream.text)


def _rank_alias(tree: exp.Select) -> str | None:
    for item in tree.expressions:
        if isinstance(item, exp.Alias) and isinstance(item.this, exp.Window):
            return item.alias
    return None


def _rank_replacement(rank: str) -> Replace:
    def replaced(node: exp.Expr) -> ResolvedName | None:
        span = span_of(node)
        if span is None or not isinstance(node, exp.Window):
            return None
        number = column(None, rank, "INT")
        return ResolvedName(number, *span, ((0, rank),), Column(rank, "INT"), False)

    return replaced


def _read_qualify(
    tree: exp.Select, items: list[SelectItem], expressions: ExpressionReader, rank: str
) -> tuple[list[exp.Expr], RowLimit | None]:
    """Returns the filters of QUALIFY and the limit that it sets."""
    qualify = tree.args.get("qualify")
    if qualify is None:
        return [], None
    named = {item.output.name.lower() for item in items if item.reference and _is_rank(item, rank)}

    def is_rank(node: exp.Expr) -> bool:
        if isinstance(node, exp.Column):
            return len(node.parts) == 1 and node.name.lower() in named
        return isinstance(node, exp.Window)

    text = expressions.scope.text
    terms, limit = extract_row_limit(list(split_conjunction(qualify.this)), is_rank, text)
    if limit is None:
        raise _unlimited_error(place_of(qualify, text))
    return terms, limit


def _is_rank(item: SelectItem, rank: str) -> bool:
    return item.reference is not None and item.reference.reads == ((0, rank),)


def _window_end(frame: WindowSpec, stream: OperatorInput) -> Expression | None:
    """Returns the end of the window if rows are numbered per window."""
    if stream.window is None:
        return None
    (relation,) = stream.input_expressions.scope.relations
    moments = [relation.refer(name) for name in stream.window]
    partitioned = set(moments) & set(frame.partition)
    if partitioned and moments[1] not in partitioned and has_session_windows(stream):
        raise PlanError(
            "MS-PLAN-WINDOW",
            "start and end identify a session window, and PARTITION BY has only the start.",
            fix="Partition by the end, or by both.",
            place=stream.place,
        )
    return moments[1] if partitioned else None


def reads_windowed_result(stream: OperatorInput) -> bool:
    """Tests whether the rows are results of an operator with windows."""
    below = upstream_of(stream.node)
    if isinstance(below, Source | UnionAll | Join):
        return False
    return kind_of(below).window(below) is not None


def _window(items: list[SelectItem], stream: OperatorInput) -> tuple[str, str] | None:
    if stream.window is None:
        return None
    start, end = (find_time_output(items, ((0, name),)) for name in stream.window)
    return (start, end) if start and end else None


def finish_ranking(
    tree: exp.Select,
    relation: Relation,
    terms: list[exp.Expr],
    text: SourceText,
    options: QueryOptions,
) -> tuple[Relation, list[exp.Expr]] | None:
    """Replaces a Ranking that a query reads by a TopN with the limit from WHERE.

    Returns the new relation and the other terms of WHERE, or None if the query reads no Ranking."""
    node = relation.node
    ranking = node.input if isinstance(node, Select) else None
    if not isinstance(node, Select) or not isinstance(ranking, Ranking):
        return None
    number = next((o.name for o in node.outputs if _is_column(o, ranking.rank)), None)
    expressions = ExpressionReader(Scope((relation,), text))

    def is_rank(part: exp.Expr) -> bool:
        bare = expressions.column_reference(part) if isinstance(part, exp.Column) else None
        return bare is not None and bare.reads == ((0, number),)

    left, limit = extract_row_limit(terms, is_rank, text)
    if limit is None:
        raise _unlimited_error(ranking.place)
    reads = {name for item in read_outputs(tree, expressions) for _, name in item.reads}
    reads |= {name for term in left for _, name in expressions.columns_read(term)}
    if number not in reads:
        shown = tuple(output for output in node.outputs if output.name != number)
        node = replace(node, outputs=shown, input=replace(ranking, rank=None))
    return replace(relation, node=build_top_n(node, limit, options, text)), left


def _is_column(output: Output, name: str | None) -> bool:
    return name is not None and output.expression.column_of(None) == name


def build_top_n(
    select: Select,
    limit: RowLimit,
    options: QueryOptions,
    text: SourceText,
    late_columns: tuple[str, ...] | None = None,
) -> Select:
    """Returns a Select over a Ranking with a TopN in its place.

    `late_columns` are those of late rows in a side output; by default, all columns.
    """
    ranking = select.input
    assert isinstance(ranking, Ranking)
    properties = {**ranking.properties, **options.properties}
    emit = resolve_emit(
        options.emit or ranking.emit_clause, windowed=ranking.due is not None, text=text
    )
    final = emit is Emit.FINAL
    kinds = dict.fromkeys((TOP_OF_WINDOW if final else TOP, *ranking.kinds, *options.kinds))
    reject_unused_properties(properties, *kinds)
    source, time, place = ranking.input, ranking.input.time, ranking.place
    ttl = None
    if final:
        require_event_time(ranking.name, source.node, time, place)
    elif ranking.partition or ranking.over_changes or "state.ttl" in properties:
        cause = f"the state would keep rows of every partition of {ranking.name} forever."
        ttl = resolve_state_ttl(properties, cause, time, ranking.name, place, source.node)
    late = resolve_late_policy(properties if final else {}, options.sinks)
    if ranking.over_changes:
        way_out = retraction_fix(source.node, ranking.name)
        reject_late_retractions(late, properties, ranking.name, way_out)
    if late.action is LateAction.SIDE_OUTPUT:
        every = tuple(each.name for each in source.node.columns)
        source = replace(source, used=late_columns or every)
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
        limit=resolve_state_limit(properties),
        place=place,
    )
    in_time = final and ranking.input_is_windowed
    return replace(select, input=top, time=select.time if in_time else None)


def reject_unlimited_rankings(root: Select) -> None:
    for operator in operators_of(root):
        if isinstance(operator, Ranking):
            raise _unlimited_error(operator.place)


def _unlimited_error(place: Place | None) -> PlanError:
    return _top_n_error(
        "ROW_NUMBER() has no limit, so the state would keep every row forever.",
        "Limit the row number: WHERE n <= 10 in the outer query, where n is its alias, or "
        "QUALIFY ROW_NUMBER() OVER (…) <= 10.",
        place,
    )


def _top_n_error(cause: str, fix: str, place: Place | None) -> PlanError:
    return PlanError("MS-PLAN-TOP-N", cause, fix=fix, place=place)
