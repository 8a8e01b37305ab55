"""Parses an expression whose columns are already resolved."""

from __future__ import annotations

from sqlglot import exp, parse_one

from millstream.plan.expressions.compose import column_tree, merge_parts
from millstream.plan.expressions.expression import ColumnReference, Expression, Part
from millstream.sql.dialect import Millstream
from millstream.sql.spans import span_of

_PREFIX = "SELECT "


def parse_expression(text: str, kind: str | None = None) -> Expression:
    """Parses Spark SQL. A name with one part is a column without an alias; with more parts, the
    first is an alias, the second a column, and others are fields."""
    select = _PREFIX + text
    tree: exp.Expr = parse_one(select, read=Millstream).expressions[0].pop()
    parts: list[Part] = []
    last = len(_PREFIX)
    for node in sorted(tree.find_all(exp.Column), key=lambda each: span_of(each) or (0, 0)):
        names = [each for each in node.parts if isinstance(each, exp.Identifier)]
        if not names:
            continue  # the star of `struct(*)`
        alias = names[0].name if len(names) > 1 else None
        reference = ColumnReference(alias, names[min(1, len(names) - 1)].name)
        end = names[min(1, len(names) - 1)].meta["end"]
        parts += [select[last : names[0].meta["start"]], reference]
        last = end + 1
        new: exp.Expr = column_tree(reference)
        for name in names[2:]:
            new = exp.Dot(this=new, expression=name.copy())
        tree = new if node is tree else tree
        node.replace(new)
    parts.append(select[last:])
    for part in tree.walk():
        part.meta.clear()  # spans refer to a user's text
    return Expression(merge_parts(parts), lambda: tree, kind)
