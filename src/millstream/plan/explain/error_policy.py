"""Describes 'on.error': where a row goes for which an expression fails."""

from __future__ import annotations

from millstream.plan.document import Fact, fact
from millstream.plan.expressions.failures import can_fail
from millstream.plan.facts.evaluated_expressions import pair_expressions
from millstream.plan.nodes import Pipeline, TableJoin
from millstream.plan.nodes.traversal import nodes_in_order, operators_of


def error_policy_facts(pipeline: Pipeline) -> tuple[Fact, ...]:
    """Describes the policy of a pipeline, unless it is the default, `fail`."""
    policy = pipeline.errors
    if not policy.diverts:
        return ()
    failing = [str(each) for each in _expressions_that_fail(pipeline)]
    sink = policy.sink or "the dead letters of its source"
    if policy.sink is None and operators_of(pipeline.root):
        sink += "; a result of an operator, to those of the query"
    lines = [f"dead_letter: a row for which an expression fails goes to {sink}"]
    lines += [f"fail: {each}, which is evaluated for pairs of rows" for each in failing]
    data = {"action": str(policy.action), "sink": policy.sink, "fails": failing}
    return (fact("on_error", data, "on error", *lines),)


def _expressions_that_fail(pipeline: Pipeline) -> list[object]:
    """Returns the expressions whose failure stops the query: those over pairs of rows."""
    joins = [*operators_of(pipeline.root)]
    tables = (node for node in nodes_in_order(pipeline.root) if isinstance(node, TableJoin))
    found = dict.fromkeys(
        each for node in (*joins, *tables) for each in pair_expressions(node) if can_fail(each)
    )
    return list(found)
