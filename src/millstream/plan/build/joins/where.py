"""Assigns the terms of WHERE to the joins of a chain.

A term is assigned to the first join after which all its columns are available, but to no join
before a RIGHT or FULL join, which would emit rows that the term has dropped. At an inner join it
is treated as a term of ON, so it may be a key or a bound.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.joins.conjuncts import split_conjunction
from millstream.plan.expressions import column
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation, Scope, SharedColumn
from millstream.sql.text import SourceText
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class JoinStep:
    """A join of the chain by its syntax; with `inner`, terms of WHERE are terms of its ON."""

    clause: exp.Join
    right: Relation
    how: JoinType
    inner: bool


def assign_filters(
    query: exp.Select, first: Relation, steps: list[JoinStep], text: SourceText
) -> list[list[exp.Expr]]:
    """Returns the terms of WHERE by the number of the join that evaluates them."""
    where = query.args.get("where")
    terms = list(split_conjunction(where.this)) if where else []
    found: list[list[exp.Expr]] = [[] for _ in steps]
    if len(steps) == 1:
        return [terms]
    expressions = ExpressionReader(_names(first, steps, text))
    joined = [0, *(number for number, step in enumerate(steps) if not step.how.left_only)]
    lowest = max((n for n, step in enumerate(steps) if step.how.preserves_right), default=0)
    for term in terms:
        at = len(steps) - 1
        with suppress(PlanError):  # the last join rejects unknown names
            numbers = expressions.inputs_read(term)
            if numbers and expressions.is_deterministic(term):
                at = max(lowest, *(joined[number] for number in numbers))
        found[at].append(term)
    return found


def _names(first: Relation, steps: list[JoinStep], text: SourceText) -> Scope:
    """Returns the scope of WHERE. A column of USING is available after its last join."""
    relations, merged = [first], dict[str, SharedColumn]()
    for step in steps:
        if not step.how.left_only:
            relations.append(step.right)
        for identifier in step.clause.args.get("using") or []:
            name = identifier.name
            found = next((c for c in step.right.columns if c.name.lower() == name.lower()), None)
            if found is not None:
                reads = ((len(relations) - 1, found.name),)
                merged[name.lower()] = SharedColumn(column(None, name), reads, found)
    return Scope(tuple(relations), text, merged)
