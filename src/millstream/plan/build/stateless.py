"""Plans a stateless query: a Select over one stream."""

from __future__ import annotations

from sqlglot import exp

from millstream.plan.build.joins.conjuncts import read_filters, split_conjunction
from millstream.plan.build.query_options import QueryOptions, reject_unused_properties
from millstream.plan.build.top_n import finish_ranking
from millstream.plan.expressions import join_with_and
from millstream.plan.nodes import Select
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation, Scope
from millstream.plan.resolve.select_list import (
    SelectItem,
    find_time_output,
    read_outputs,
    require_distinct_names,
)
from millstream.plan.resolve.system_columns import with_system_columns
from millstream.sql.text import SourceText


def plan_stateless_query(
    tree: exp.Select, relation: Relation, text: SourceText, options: QueryOptions
) -> Select:
    where = tree.args.get("where")
    terms = list(split_conjunction(where.this)) if where else []
    found = finish_ranking(tree, relation, terms, text, options)
    if found:
        relation, terms = found
    scope = Scope((relation,), text)
    expressions = ExpressionReader(scope)
    filters = read_filters(terms, expressions)
    outputs = list(read_outputs(tree, expressions))
    if not found:
        reject_unused_properties(options.properties)
    reads = {name for item in outputs for _, name in item.reads}
    reads |= {name for term in terms for _, name in expressions.columns_read(term)}
    return Select(
        input=with_system_columns(relation.node, reads),
        outputs=require_distinct_names(outputs, scope, options.place),
        where=join_with_and(filters),
        alias=relation.alias,
        time=find_time_output(outputs, ((0, relation.time),)),
        window=_window(outputs, relation),
        place=options.place,
    )


def _window(outputs: list[SelectItem], relation: Relation) -> tuple[str, str] | None:
    """Returns the outputs with start and end of the input's window, if the query selects both."""
    below = relation.node.window if isinstance(relation.node, Select) else None
    if below is None:
        return None
    start, end = (find_time_output(outputs, ((0, name),)) for name in below)
    return (start, end) if start and end else None
