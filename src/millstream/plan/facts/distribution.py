"""How the rows of an operator are distributed over the workers."""

from __future__ import annotations

from millstream.plan.document.formats import join_key
from millstream.plan.expressions.spark_sql import texts
from millstream.plan.facts.colocation import shared_exchange
from millstream.plan.kinds import single_input_kind_of
from millstream.plan.kinds.distribution import Strategy
from millstream.plan.nodes import Join, Operator, Source
from millstream.plan.nodes.traversal import bottom_of, inputs_of


def strategy_of(operator: Operator) -> Strategy:
    """By key: rows of sources once, results of an operator anew, unless they lie by it already."""
    if isinstance(operator, Join):
        key = join_key(operator)
    else:
        kind = single_input_kind_of(operator)
        key = texts(kind.keys(operator))
        if not key:
            return Strategy(kind.unkeyed)
    sides = inputs_of(operator)
    if shared_exchange(operator):
        return Strategy("shared", key, len(sides))
    of_sources = all(isinstance(bottom_of(side.node), Source) for side in sides)
    return Strategy("hash" if of_sources else "repartition", key, len(sides))
