"""A query that keeps no state: a Select over one stream."""

from __future__ import annotations

from sqlglot import exp

from millstream.plan.build.joins.conjuncts import conjuncts_of, filters_of
from millstream.plan.build.policies import refuse_unused
from millstream.plan.build.query_options import Asked
from millstream.plan.build.top_n import limited
from millstream.plan.expressions import all_of
from millstream.plan.nodes import Select
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Relation, Scope
from millstream.plan.resolve.select_list import Item, carrying, distinct, outputs_of
from millstream.plan.resolve.system_columns import with_hidden
from millstream.sql.text import SourceText


def plan_plain(tree: exp.Select, relation: Relation, text: SourceText, asked: Asked) -> Select:
    where = tree.args.get("where")
    terms = list(conjuncts_of(where.this)) if where else []
    found = limited(tree, relation, terms, text, asked)
    if found:
        relation, terms = found
    scope = Scope((relation,), text)
    expressions = Expressions(scope)
    filters = filters_of(terms, expressions)
    outputs = list(outputs_of(tree, expressions))
    if not found:
        refuse_unused(asked.properties)
    reads = {name for item in outputs for _, name in item.reads}
    reads |= {name for term in terms for _, name in expressions.reads(term)}
    return Select(
        input=with_hidden(relation.node, reads),
        outputs=distinct(outputs, scope, asked.place),
        where=all_of(filters),
        alias=relation.alias,
        time=carrying(outputs, ((0, relation.time),)),
        window=_window(outputs, relation),
        place=asked.place,
    )


def _window(outputs: list[Item], relation: Relation) -> tuple[str, str] | None:
    """The outputs that carry the window of the stream below, if both of its columns are there."""
    below = relation.node.window if isinstance(relation.node, Select) else None
    if below is None:
        return None
    start, end = (carrying(outputs, ((0, name),)) for name in below)
    return (start, end) if start and end else None
