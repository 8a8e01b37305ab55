"""Reads the window of a window function: OVER (PARTITION BY … ORDER BY … ROWS …)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.expressions import Expression
from millstream.plan.nodes import Order
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.sql.text import SourceText
from millstream.suggestions import nearest, same


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """The window of a window function over the input; `spec` is its frame clause."""

    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    spec: exp.Expr | None


def find_window_functions(tree: exp.Select) -> list[exp.Window]:
    """Returns the window functions of a query, in their order in the text."""
    nodes = [*tree.expressions, tree.args.get("qualify")]
    return [
        found for node in nodes if node is not None for found in _iterate_window_functions(node)
    ]


def _iterate_window_functions(node: exp.Expr) -> Iterator[exp.Window]:
    if isinstance(node, exp.Window):
        yield node
    elif not isinstance(node, exp.Query):
        for part in node.iter_expressions():
            yield from _iterate_window_functions(part)


def read_window_spec(node: exp.Window, tree: exp.Select, below: ExpressionReader) -> WindowSpec:
    text = below.scope.text
    named = _named(node, tree, text)
    partition = node.args.get("partition_by") or (named.args.get("partition_by") if named else [])
    order = node.args.get("order") or (named.args.get("order") if named else None)
    spec = node.args.get("spec") or (named.args.get("spec") if named else None)
    return WindowSpec(
        tuple(_read(part, below) for part in partition or []),
        tuple(read_order(term, below) for term in (order.expressions if order else [])),
        spec,
    )


def _named(node: exp.Window, tree: exp.Select, text: SourceText) -> exp.Expr | None:
    name = node.args.get("alias")
    if name is None:
        return None
    windows: list[exp.Expr] = tree.args.get("windows") or []
    found = next((window for window in windows if same(window.name, name.name)), None)
    if found is None:
        raise PlanError(
            "MS-PLAN-OVER",
            f"the query has no window {name.name}.",
            fix=nearest(name.name, [window.name for window in windows])
            or f"Add WINDOW {name.name} AS (PARTITION BY … ORDER BY …).",
            place=place_of(node, text),
        )
    return found


def read_order(term: exp.Expr, below: ExpressionReader) -> Order:
    """Reads one term of ORDER BY."""
    return order_of(term, _read(term.this, below))


def order_of(term: exp.Expr, expression: Expression) -> Order:
    """Returns an expression with the direction of a term of ORDER BY."""
    return Order(expression, bool(term.args.get("desc")), bool(term.args.get("nulls_first")))


def _read(node: exp.Expr, below: ExpressionReader) -> Expression:
    below.check(node)
    expression = below.read(node)
    if expression is None:
        raise not_supported("this expression", place_of(node, below.scope.text))
    return expression
