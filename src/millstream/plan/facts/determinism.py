"""Functions of chance or of the clock over rows that are taken back.

A row and its taking back are computed apart, so such a function would tell another row gone than
the one that was told before.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.errors import PlanError
from millstream.plan.expressions import Expression
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.plan.expressions.shapes import source_sql
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Node, Select, Source, TableJoin
from millstream.plan.nodes.traversal import nodes_of, can_retract
from millstream.temporal import OutputMode


def reject_nondeterministic(root: Select, mode: OutputMode) -> None:
    """Refuse what gives another value when a row is taken back. With 'upsert' old values are not
    written, so the outermost list may tell the time of a change."""
    for node in nodes_of(root):
        clock = not (node is root and mode is OutputMode.UPSERT)
        for expression in _retractable_outputs(node):
            _reject(expression, node, clock=clock)
        for expression in _expressions_over_retractions(node):
            _reject(expression, node, clock=True)


def _retractable_outputs(node: Node) -> Iterator[Expression]:
    """The outputs of rows that may be taken back."""
    if isinstance(node, Select) and can_retract(node):
        yield from (output.expression for output in node.outputs)


def _expressions_over_retractions(node: Node) -> Iterator[Expression]:
    """What decides over rows that may be taken back: filters, and the expressions of operators."""
    found: tuple[Expression | None, ...] = ()
    if isinstance(node, Select):
        found = (node.where,) if can_retract(node) else ()
    elif isinstance(node, TableJoin):
        if can_retract(node):
            found = (*(key.left for key in node.keys), node.left_where, node.across_sql)
    elif not isinstance(node, Source):
        found = kind_of(node).expressions_over_retractions(node)
    yield from (each for each in found if each is not None)


def _reject(expression: Expression, node: Node, *, clock: bool) -> None:
    part = next(nondeterministic_parts(expression.tree, clock=clock), None)
    if part is None:
        return
    raise PlanError(
        "MS-PLAN-RETRACT",
        f"{source_sql(part, expression)} is computed anew when a row is taken back, and gives another "
        "value then.",
        fix="Compute it in a query below, where rows are not taken back yet, or write EMIT FINAL "
        "with a WINDOW and no 'window.lateness'.",
        place=node.place,
    )
