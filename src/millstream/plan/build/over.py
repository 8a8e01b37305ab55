"""Plans OVER: ROW_NUMBER() becomes a TopN; aggregates over preceding rows, an over-aggregate."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.aggregate_calls import parse_call
from millstream.plan.build.operator_input import OperatorInput
from millstream.plan.build.over_aggregate import plan_rows_over
from millstream.plan.build.query_options import QueryOptions
from millstream.plan.build.top_n import plan_ranking
from millstream.plan.build.window_spec import find_window_functions
from millstream.plan.nodes import Select
from millstream.plan.reject import function_name, place_of

_SUPPORTED = (
    "ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) with a filter such as <= 10, and aggregates "
    "OVER (PARTITION BY … ORDER BY the event time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)"
)


def plan_over(tree: exp.Select, stream: OperatorInput, options: QueryOptions) -> Select:
    nodes = find_window_functions(tree)
    ranking = [node for node in nodes if isinstance(node.this, exp.RowNumber)]
    for node in nodes:
        if node not in ranking and parse_call(node.this) is None:
            raise PlanError(
                "MS-PLAN-OVER",
                f"there is no window function {function_name(node, stream.text).upper()} over "
                "streams.",
                fix=f"Supported: {_SUPPORTED}.",
                place=place_of(node, stream.text),
            )
    if not nodes:
        raise PlanError(
            "MS-PLAN-OVER",
            "QUALIFY needs a window function, and this query has none.",
            fix="Write WHERE, or QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= 10.",
            place=place_of(tree.args["qualify"], stream.text),
        )
    if ranking and len(ranking) < len(nodes):
        raise PlanError(
            "MS-PLAN-ONE-OPERATOR",
            "the query has both ROW_NUMBER() and an aggregate with OVER.",
            fix="Compute one of them in a subquery.",
            place=place_of(nodes[1], stream.text),
        )
    return plan_ranking(tree, stream, options) if ranking else plan_rows_over(tree, stream, options)
