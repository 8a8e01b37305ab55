"""The resolved tree of an expression: every column in it means a column of the plan."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millstream.plan.resolve.scope import ResolvedName
from millstream.sql.spans import span_of


def resolved_tree(node: exp.Expr, references: Mapping[int, ResolvedName]) -> exp.Expr:
    """A copy of the user's tree with the trees of references, by where they begin in the text, in
    the place of what they stand for."""
    return _resolved(node.copy(), references)


def _resolved(node: exp.Expr, references: Mapping[int, ResolvedName]) -> exp.Expr:
    span = span_of(node)
    reference = references.get(span[0]) if span else None
    if reference is not None and span is not None:
        if reference.end == span[1]:
            return reference.expression.tree.copy()
        if isinstance(node, exp.Column):
            return _field(node, reference)
    for child in list(node.iter_expressions()):
        new = _resolved(child, references)
        if new is not child:
            child.replace(new)
    return node


def _field(node: exp.Column, reference: ResolvedName) -> exp.Expr:
    """A field of a struct column."""
    tree: exp.Expr = reference.expression.tree.copy()
    for part in node.parts:
        if part.meta.get("start", -1) > reference.end:
            tree = exp.Dot(this=tree, expression=part.copy())
    return tree
