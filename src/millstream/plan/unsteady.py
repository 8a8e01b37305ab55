"""Functions of chance or of the clock over rows that are taken back.

A row and its taking back are computed apart, so such a function would tell another row gone than
the one that was told before.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp, parse_one

from millstream.errors import PlanError
from millstream.plan.nodes import Aggregate, Node, RegularJoin, Select, TableJoin, TopN
from millstream.plan.refuse import unsteady_parts
from millstream.plan.walk import nodes_of, retracts
from millstream.sql.dialect import Millstream
from millstream.sql.spans import span_of
from millstream.temporal import OutputMode

_BEFORE = "SELECT "


def refuse_unsteady(root: Select, mode: OutputMode) -> None:
    """Refuse what gives another value when a row is taken back. With 'upsert' old values are not
    written, so the outermost list may tell the time of a change."""
    for node in nodes_of(root):
        clock = not (node is root and mode is OutputMode.UPSERT)
        for text in _shown(node):
            _refuse(text, node, clock=clock)
        for text in _deciding(node):
            _refuse(text, node, clock=True)


def _shown(node: Node) -> Iterator[str]:
    """The outputs of rows that may be taken back."""
    if isinstance(node, Select) and retracts(node):
        yield from (output.sql for output in node.outputs)


def _deciding(node: Node) -> Iterator[str]:
    """What decides over rows that may be taken back: filters, and the texts of operators."""
    texts: list[str | None] = []
    if isinstance(node, Select) and retracts(node):
        texts = [node.where]
    elif isinstance(node, Aggregate) and node.over_changes:
        texts = [*(key.sql for key in node.keys), *(node.given or ())]
        for call in node.calls:
            texts += [call.argument, call.filter, call.by]
    elif isinstance(node, TopN) and node.over_changes:
        texts = [*node.partition, *(order.sql for order in node.order), node.due]
    elif isinstance(node, RegularJoin) and any(node.over_changes):
        texts = [text for key in node.keys for text in (key.left, key.right)]
        texts += [node.left_where, node.right_where, node.across_sql]
    elif isinstance(node, TableJoin) and retracts(node):
        texts = [*(key.left for key in node.keys), node.left_where, node.across_sql]
    yield from (text for text in texts if text is not None)


def _refuse(text: str, node: Node, *, clock: bool) -> None:
    part = next(unsteady_parts(parse_one(_BEFORE + text, read=Millstream), clock=clock), None)
    if part is None:
        return
    raise PlanError(
        "MS-PLAN-RETRACT",
        f"{_written(part, text)} is computed anew when a row is taken back, and gives another "
        "value then.",
        fix="Compute it in a query below, where rows are not taken back yet, or write EMIT FINAL "
        "with a WINDOW and no 'window.lateness'.",
        place=node.place,
    )


def _written(part: exp.Expr, text: str) -> str:
    span = span_of(part)
    return (_BEFORE + text)[span[0] : span[1] + 1] if span else part.sql("spark")
