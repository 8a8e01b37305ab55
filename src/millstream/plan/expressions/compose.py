"""Composes expressions: columns, conjunctions, and templates of Spark SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial

from sqlglot import exp, parse_one

from millstream.plan.expressions.expression import ColumnReference, Expression, Part
from millstream.plan.expressions.spark_sql import to_spark_sql
from millstream.sql.dialect import Millstream

_OPERAND = "_ms_operand_"


def column(alias: str | None, name: str, kind: str | None = None) -> Expression:
    """Returns a reference to a column of type `kind` of the stream with an alias."""
    reference = ColumnReference(alias, name)
    return Expression((reference,), partial(column_tree, reference), kind)


def column_tree(reference: ColumnReference) -> exp.Expr:
    table = None if reference.alias is None else exp.to_identifier(reference.alias)
    return exp.Column(this=exp.to_identifier(reference.name), table=table)


def template(text: str, *operands: Expression | int, kind: str | None = None) -> Expression:
    """Returns Spark SQL with an operand in place of every `{}`.

    `text` is a constant of the planner, so its tree is cached.
    """
    texts = text.split("{}")
    assert len(texts) == len(operands) + 1, f"{text} takes {len(texts) - 1} operands"
    parts: list[Part] = [texts[0]]
    for operand, after in zip(operands, texts[1:], strict=True):
        parts += [str(operand)] if isinstance(operand, int) else operand.parts
        parts.append(after)
    origin = next((each.origin for each in operands if not isinstance(each, int)), None)
    return Expression(merge_parts(parts), partial(_template_tree, text, operands), kind, origin)


def merge_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Returns the parts with adjacent strings merged."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return tuple(found)


def _template_tree(text: str, operands: Sequence[Expression | int]) -> exp.Expr:
    tree = _parsed(text).copy()
    for node in list(tree.find_all(exp.Column)):
        if node.name.startswith(_OPERAND):
            operand = operands[int(node.name.removeprefix(_OPERAND))]
            new = exp.convert(operand) if isinstance(operand, int) else operand.tree.copy()
            tree = new if node is tree else tree
            node.replace(new)
    return tree


@lru_cache(maxsize=256)
def _parsed(text: str) -> exp.Expr:
    texts = text.split("{}")
    named = "".join(f"{before}{_OPERAND}{number}" for number, before in enumerate(texts[:-1]))
    tree: exp.Expr = parse_one(f"SELECT {named}{texts[-1]}", read=Millstream).expressions[0].pop()
    for node in tree.walk():
        node.meta.clear()  # spans are those of the user's text
    return tree


def join_with_and(terms: Iterable[Expression]) -> Expression | None:
    """Returns the conjunction of predicates, or None. An OR among them must be in parentheses."""
    found = list(terms)
    if len(found) < 2:
        return found[0] if found else None
    parts: list[Part] = []
    for term in found:
        parts += [" AND ", *term.parts] if parts else term.parts
    return Expression(
        merge_parts(parts), partial(_conjunction_tree, found), "BOOLEAN", found[0].origin
    )


def _conjunction_tree(terms: Sequence[Expression]) -> exp.Expr:
    tree = terms[0].tree.copy()
    for term in terms[1:]:
        tree = exp.And(this=tree, expression=term.tree.copy())
    return tree


def parenthesise(expression: Expression) -> Expression:
    parts = merge_parts(("(", *expression.parts, ")"))
    tree = partial(_parenthesised_tree, expression)
    return Expression(parts, tree, expression.type, expression.origin)


def _parenthesised_tree(expression: Expression) -> exp.Expr:
    return exp.Paren(this=expression.tree.copy())


def parenthesise_if_needed(expression: Expression) -> Expression:
    """Returns the expression in parentheses, unless it is one word."""
    is_word = to_spark_sql(expression).replace("_", "a").isalnum()
    return expression if is_word else parenthesise(expression)
