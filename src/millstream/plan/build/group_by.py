"""Resolves GROUP BY to expressions over the input: aliases, ordinals and ALL."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.reject import is_aggregate, not_supported, place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.suggestions import same

_SETS = {"rollup": "ROLLUP", "cube": "CUBE", "grouping_sets": "GROUPING SETS", "totals": "TOTALS"}


def contains_aggregate(node: exp.Expr) -> bool:
    """Tests whether an expression contains an aggregate that has no OVER."""
    if isinstance(node, exp.Window | exp.Query):
        return False
    return is_aggregate(node) or any(contains_aggregate(part) for part in node.iter_expressions())


def resolve_group_keys(tree: exp.Select, below: ExpressionReader) -> Iterator[exp.Expr]:
    group = tree.args.get("group")
    if group is None:
        return
    _reject_grouping_sets(group, below)
    items = [item.this if isinstance(item, exp.Alias) else item for item in tree.expressions]
    if group.args.get("all"):
        yield from (item for item in items if not contains_aggregate(item))
        return
    for node in group.expressions:
        if isinstance(node, exp.Tuple) and not node.expressions:  # GROUP BY ()
            continue
        found = _resolve_key(node, tree, items, below)
        if contains_aggregate(found):
            raise PlanError(
                "MS-PLAN-GROUP",
                f"{below.source_sql(node)} is an aggregate, and GROUP BY cannot contain "
                "aggregates.",
                fix="Group by other columns, or compute the aggregate in a subquery.",
                place=place_of(node, below.scope.text),
            )
        yield found


def _reject_grouping_sets(group: exp.Expr, below: ExpressionReader) -> None:
    place = place_of(group, below.scope.text)
    for name, word in _SETS.items():
        if group.args.get(name):
            raise not_supported(word, place)
    for node in group.expressions:
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
            raise not_supported(_SETS[node.key.replace("groupingsets", "grouping_sets")], place)


def _resolve_key(
    node: exp.Expr, tree: exp.Select, items: list[exp.Expr], below: ExpressionReader
) -> exp.Expr:
    """Resolves a key; as in Spark, a column of the input has precedence over an alias."""
    if isinstance(node, exp.Literal) and node.is_int:
        number = int(node.name)
        if not 1 <= number <= len(items):
            raise PlanError(
                "MS-PLAN-GROUP",
                f"GROUP BY {number} is not a position in the select list.",
                fix=f"Write a number from 1 to {len(items)}, or the key itself.",
                place=place_of(node, below.scope.text),
            )
        return items[number - 1]
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        try:
            below.scope.resolve(node)
        except PlanError:
            return _find_aliased(tree, node.name) or node
    return node


def _find_aliased(tree: exp.Select, name: str) -> exp.Expr | None:
    for item in tree.expressions:
        if isinstance(item, exp.Alias) and same(item.alias, name):
            found: exp.Expr = item.this
            return found
    return None
