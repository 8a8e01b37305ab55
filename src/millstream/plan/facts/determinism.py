"""Rejects non-deterministic functions over rows that can be retracted.

A row and its retraction are computed separately, so such a function would retract another row than
the one that was emitted.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.errors import PlanError
from millstream.plan.expressions import Expression
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.plan.expressions.shapes import source_sql
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Node, Select, Source, TableJoin, UnionAll
from millstream.plan.nodes.traversal import can_retract, nodes_of
from millstream.temporal import OutputMode


def reject_nondeterministic(root: Select, mode: OutputMode) -> None:
    """Rejects expressions that give another value when a row is retracted.

    With 'upsert', old values are not written, so the outermost select list can use the current
    time.
    """
    for node in nodes_of(root):
        clock = not (node is root and mode is OutputMode.UPSERT)
        for expression in _retractable_outputs(node):
            _reject(expression, node, clock=clock)
        for expression in _expressions_over_retractions(node):
            _reject(expression, node, clock=True)


def _retractable_outputs(node: Node) -> Iterator[Expression]:
    """Yields the outputs of a Select whose rows can be retracted."""
    if isinstance(node, Select) and can_retract(node):
        yield from (output.expression for output in node.outputs)


def _expressions_over_retractions(node: Node) -> Iterator[Expression]:
    """Yields filters and operator expressions over rows that can be retracted."""
    found: tuple[Expression | None, ...] = ()
    if isinstance(node, Select):
        found = (node.where,) if can_retract(node) else ()
    elif isinstance(node, TableJoin):
        if can_retract(node):
            found = (*(key.left for key in node.keys), node.left_where, node.across_sql)
    elif not isinstance(node, Source | UnionAll):
        found = kind_of(node).expressions_over_retractions(node)
    yield from (each for each in found if each is not None)


def _reject(expression: Expression, node: Node, *, clock: bool) -> None:
    part = next(nondeterministic_parts(expression.tree, clock=clock), None)
    if part is None:
        return
    raise PlanError(
        "MS-PLAN-RETRACT",
        f"{source_sql(part, expression)} is evaluated again when a row is retracted, with another "
        "result.",
        fix="Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a "
        "WINDOW and no 'window.lateness'.",
        place=node.place,
    )
