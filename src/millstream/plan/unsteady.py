"""Functions of chance or of the clock over rows that are taken back.

A row and its taking back are computed apart, so such a function would tell another row gone than
the one that was told before.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.errors import PlanError
from millstream.plan.expressions import Expression
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.plan.expressions.shapes import written
from millstream.plan.nodes import Aggregate, Node, RegularJoin, Select, TableJoin, TopN
from millstream.plan.walk import nodes_of, retracts
from millstream.temporal import OutputMode


def refuse_unsteady(root: Select, mode: OutputMode) -> None:
    """Refuse what gives another value when a row is taken back. With 'upsert' old values are not
    written, so the outermost list may tell the time of a change."""
    for node in nodes_of(root):
        clock = not (node is root and mode is OutputMode.UPSERT)
        for expression in _shown(node):
            _refuse(expression, node, clock=clock)
        for expression in _deciding(node):
            _refuse(expression, node, clock=True)


def _shown(node: Node) -> Iterator[Expression]:
    """The outputs of rows that may be taken back."""
    if isinstance(node, Select) and retracts(node):
        yield from (output.expression for output in node.outputs)


def _deciding(node: Node) -> Iterator[Expression]:
    """What decides over rows that may be taken back: filters, and the expressions of operators."""
    found: list[Expression | None] = []
    if isinstance(node, Select) and retracts(node):
        found = [node.where]
    elif isinstance(node, Aggregate) and node.over_changes:
        found = [*(key.expression for key in node.keys), *(node.given or ())]
        for call in node.calls:
            found += [call.argument, call.filter, call.by]
    elif isinstance(node, TopN) and node.over_changes:
        found = [*node.partition, *(order.expression for order in node.order), node.due]
    elif isinstance(node, RegularJoin) and any(node.over_changes):
        found = [each for key in node.keys for each in (key.left, key.right)]
        found += [node.left_where, node.right_where, node.across_sql]
    elif isinstance(node, TableJoin) and retracts(node):
        found = [*(key.left for key in node.keys), node.left_where, node.across_sql]
    yield from (each for each in found if each is not None)


def _refuse(expression: Expression, node: Node, *, clock: bool) -> None:
    part = next(nondeterministic_parts(expression.tree, clock=clock), None)
    if part is None:
        return
    raise PlanError(
        "MS-PLAN-RETRACT",
        f"{written(part, expression)} is computed anew when a row is taken back, and gives another "
        "value then.",
        fix="Compute it in a query below, where rows are not taken back yet, or write EMIT FINAL "
        "with a WINDOW and no 'window.lateness'.",
        place=node.place,
    )
