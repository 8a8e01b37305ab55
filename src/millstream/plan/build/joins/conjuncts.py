"""Classifies the conjuncts of ON and WHERE: bounds, keys, filters and predicates of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.build.joins.keys import read_keys
from millstream.plan.build.joins.pair_predicate import (
    PairPredicateReader,
    UnsupportedPredicateError,
)
from millstream.plan.build.joins.time_bounds import Bound, intersect_bounds, read_time_bound
from millstream.plan.expressions import Expression, join_with_and
from millstream.plan.expressions.compose import parenthesise
from millstream.plan.nodes import Key, UnsupportedPart
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.scalars import Logic, PredicateOf


@dataclass(slots=True)
class Conjuncts:
    """The classified conjuncts of a join."""

    bounds: Bound = field(default_factory=dict)
    bound_terms: list[tuple[exp.Expr, frozenset[int]]] = field(
        default_factory=list
    )  # the terms of the bounds
    keys: list[Key] = field(default_factory=list)
    side_filters: tuple[list[Expression], list[Expression]] = field(
        default_factory=lambda: ([], [])
    )
    across: list[PredicateOf[Expression]] = field(default_factory=list)
    across_terms: list[Expression] = field(default_factory=list)
    unsupported: UnsupportedPart | None = None  # the first part that no kernel can evaluate
    output_filters: list[Expression] = field(default_factory=list)  # filters of the join's output
    reads: set[tuple[int, str]] = field(default_factory=set)  # by across_terms and output_filters
    key_reads: set[tuple[int, str]] = field(default_factory=set)
    key_origins: set[int] = field(default_factory=set)  # the relations of the keys

    @property
    def only_spark(self) -> bool:
        """Whether only Spark can evaluate a predicate of pairs."""
        return self.unsupported is not None

    @property
    def left_where(self) -> Expression | None:
        return join_with_and(self.side_filters[0])

    @property
    def right_where(self) -> Expression | None:
        return join_with_and(self.side_filters[1])

    @property
    def across_sql(self) -> Expression | None:
        return join_with_and(self.across_terms)

    @property
    def predicate(self) -> PredicateOf[Expression] | None:
        if len(self.across) > 1:
            return Logic("and", tuple(self.across))
        return self.across[0] if self.across else None


def split_conjunction(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yields the terms of a conjunction, including nested conjunctions."""
    inner = node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.And):
        yield from split_conjunction(inner.this)
        yield from split_conjunction(inner.expression)
    elif node is not None:
        yield node


def classify_conjuncts(
    terms: list[exp.Expr],
    expressions: ExpressionReader,
    times: EventTimes,
    right: int,
    *,
    inner: bool,
) -> Conjuncts:
    """Classifies the terms of a join.

    In an inner join, a non-deterministic term filters the output. A bound relates two of `times`:
    that of the right side and another one."""
    found = Conjuncts()
    for term in terms:
        expressions.check(term)
        if isinstance(term, exp.Boolean) and term.this:
            continue
        expression = read_predicate(term, expressions)
        sides = expressions.inputs_read(term)
        if inner and (not sides or not expressions.is_deterministic(term)):
            found.output_filters.append(expression)
            found.reads |= expressions.columns_read(term)
        elif bound := read_time_bound(term, expressions, times, right):
            found.bounds = intersect_bounds(found.bounds, bound)
            found.bound_terms.append((term, frozenset(bound)))
        elif len(sides) == 1 and expressions.is_deterministic(term):
            found.side_filters[next(iter(sides))].append(expression)
        elif keys := read_keys(term, expressions):
            found.keys += keys
            found.key_reads |= expressions.columns_read(term)
            found.key_origins |= expressions.relations_read(term)
        else:
            add_pair_predicate(term, expression, expressions, found)
    return found


def add_bounds_of_other_times(found: Conjuncts, number: int, expressions: ExpressionReader) -> None:
    """Adds bounds of other event times than the join's as predicates of pairs."""
    for term, numbers in found.bound_terms:
        if numbers != {number}:
            add_pair_predicate(term, read_predicate(term, expressions), expressions, found)


def read_predicate(term: exp.Expr, expressions: ExpressionReader) -> Expression:
    expression = expressions.read(term)
    if expression is None:
        raise not_supported("this predicate", place_of(term, expressions.scope.text))
    expressions.require_condition(term)
    return parenthesise(expression) if isinstance(term, exp.Or) else expression


def read_filters(
    terms: Iterable[exp.Expr], expressions: ExpressionReader
) -> tuple[Expression, ...]:
    """Reads filters in their order in the text."""
    filters = []
    for term in terms:
        expressions.check(term)
        filters.append(read_predicate(term, expressions))
    return tuple(filters)


def add_pair_predicate(
    term: exp.Expr, expression: Expression, expressions: ExpressionReader, found: Conjuncts
) -> None:
    found.across_terms.append(expression)
    found.reads |= expressions.columns_read(term)
    try:
        found.across.append(PairPredicateReader(expressions).read(term))
    except UnsupportedPredicateError as error:
        found.unsupported = found.unsupported or error.part
