"""How the rows of an operator are distributed over the workers."""

from __future__ import annotations

from millstream.plan.document.formats import join_key
from millstream.plan.expressions.spark_sql import sql_list
from millstream.plan.facts.colocation import find_shared_shuffle
from millstream.plan.kinds import single_input_kind_of
from millstream.plan.kinds.distribution import Strategy
from millstream.plan.nodes import Join, Operator, Source
from millstream.plan.nodes.traversal import upstream_of, inputs_of


def choose_strategy(operator: Operator) -> Strategy:
    """By key: rows of sources once, results of an operator anew, unless they lie by it already."""
    if isinstance(operator, Join):
        key = join_key(operator)
    else:
        kind = single_input_kind_of(operator)
        key = sql_list(kind.keys(operator))
        if not key:
            return Strategy(kind.unkeyed)
    sides = inputs_of(operator)
    if find_shared_shuffle(operator):
        return Strategy("shared", key, len(sides))
    of_sources = all(isinstance(upstream_of(side.node), Source) for side in sides)
    return Strategy("hash" if of_sources else "repartition", key, len(sides))
