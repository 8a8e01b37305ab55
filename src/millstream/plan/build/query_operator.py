"""Finds the operator that a query needs by its clauses; a query has at most one."""

from __future__ import annotations

from enum import Enum

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.aggregate import plan_aggregate
from millstream.plan.build.distinct import plan_distinct
from millstream.plan.build.group_by import contains_aggregate
from millstream.plan.build.operator_input import OperatorInput
from millstream.plan.build.over import plan_over
from millstream.plan.build.query_options import QueryOptions
from millstream.plan.nodes import Select
from millstream.plan.reject import place_of
from millstream.sql.text import SourceText
from millstream.temporal import Window


class QueryOperator(Enum):
    """The operator that a query needs after FROM and WHERE."""

    NONE = "nothing"
    AGGREGATE = "GROUP BY or an aggregate"
    DISTINCT = "DISTINCT"
    OVER = "OVER or QUALIFY"


def find_query_operator(tree: exp.Select, text: SourceText) -> QueryOperator:
    found: dict[QueryOperator, exp.Expr] = {}
    grouping = [tree.args.get("group"), tree.args.get("having")]
    grouping += [item for item in tree.expressions if contains_aggregate(item)]
    over = [tree.args.get("qualify"), *(item for item in tree.expressions if _has_over(item))]
    for operator, nodes in (
        (QueryOperator.AGGREGATE, grouping),
        (QueryOperator.OVER, over),
        (QueryOperator.DISTINCT, [tree.args.get("distinct")]),
    ):
        present = [node for node in nodes if node is not None]
        if present:
            found[operator] = present[0]
    if len(found) > 1:
        (one, _), (other, place) = list(found.items())[:2]
        raise PlanError(
            "MS-PLAN-ONE-OPERATOR",
            f"the query has both {one.value} and {other.value}.",
            fix="Compute one of them in a subquery.",
            place=place_of(place, text, place_of(tree, text)),
        )
    return next(iter(found), QueryOperator.NONE)


def _has_over(node: exp.Expr) -> bool:
    if isinstance(node, exp.Query):
        return False
    return isinstance(node, exp.Window) or any(map(_has_over, node.iter_expressions()))


def plan_operator(
    tree: exp.Select,
    operator: QueryOperator,
    stream: OperatorInput,
    window: Window | None,
    options: QueryOptions,
) -> Select:
    match operator:
        case QueryOperator.AGGREGATE:
            return plan_aggregate(tree, stream, window, options)
        case QueryOperator.DISTINCT:
            return plan_distinct(tree, stream, options)
        case _:
            return plan_over(tree, stream, options)
