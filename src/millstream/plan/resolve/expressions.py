"""Reads expressions of a query: the user's own characters, with every column resolved.

sqlglot's generator would rename functions, so the characters are copied from the source and only
column names are replaced. Comments and line breaks become one space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.expressions import Expression, Origin, to_spark_sql
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.plan.expressions.functions import reject_unknown_function
from millstream.plan.expressions.type_check import TypeCheck
from millstream.plan.reject import place_of, reject_aggregates
from millstream.plan.resolve.scope import ResolvedName, Scope
from millstream.plan.resolve.source_text import flat_parts, flat_text
from millstream.plan.resolve.struct_fields import reject_unknown_field
from millstream.plan.resolve.subqueries import subquery_error
from millstream.sql.spans import span_of

Replace = Callable[[exp.Expr], ResolvedName | None]


@dataclass(frozen=True, slots=True)
class ExpressionReader:
    """Reads expressions of one query and resolves their names in `scope`.

    `replace` returns the column for parts of expressions, such as aggregates, that an operator
    computes.
    """

    scope: Scope
    replace: Replace | None = None

    def read(self, node: exp.Expr) -> Expression | None:
        """Returns the expression of a node; None in the rare case that its position is unknown."""
        span = span_of(node)
        if span is None:
            if isinstance(node, exp.Literal | exp.Boolean):
                return Expression((node.sql("spark"),), lambda: node)
            return None
        references = {reference.start: reference for reference in self._references(node)}
        text = self.scope.text
        parts, pieces = flat_parts(text.parsed, span, references)
        kind = self._type(node, references)
        found = self._type_check(references).infer(node)
        build = partial(resolved_tree, node, references)
        expression = Expression(parts, build, kind, Origin(text, span), found)
        text.origins.add(to_spark_sql(expression), pieces)
        return expression

    def _type(self, node: exp.Expr, references: Mapping[int, ResolvedName]) -> str | None:
        """Returns the declared type of a column, or the type of a cast."""
        inside = node
        while isinstance(inside, exp.Paren):
            inside = inside.this
        span = span_of(inside)
        found = references.get(span[0]) if span else None
        if span and found and found.end == span[1]:
            return None if found.has_fields else found.column.type
        return node.to.sql("spark") if isinstance(node, exp.Cast) else None

    def require_condition(self, node: exp.Expr) -> None:
        """Rejects a term of WHERE, HAVING or ON that is known not to be BOOLEAN."""
        references = {reference.start: reference for reference in self._references(node)}
        self._type_check(references).require_condition(node)

    def _type_check(self, references: Mapping[int, ResolvedName]) -> TypeCheck:
        def declared(node: exp.Expr) -> str | bool | None:
            span = span_of(node)
            found = references.get(span[0]) if span else None
            if span is None or found is None or found.end != span[1]:
                return False
            return None if found.has_fields else found.column.type

        return TypeCheck(self.scope.text, declared)

    def source_sql(self, node: exp.Expr) -> str:
        """Returns the user's text of an expression on one line."""
        span = span_of(node)
        return flat_text(self.scope.text.parsed, span, {}) if span else node.sql("spark")

    def columns_read(self, node: exp.Expr) -> frozenset[tuple[int, str]]:
        return frozenset(read for reference in self._references(node) for read in reference.reads)

    def inputs_read(self, node: exp.Expr) -> frozenset[int]:
        """Returns the numbers of the operator's inputs that an expression reads."""
        return frozenset(number for number, _ in self.columns_read(node))

    def relations_read(self, node: exp.Expr) -> frozenset[int]:
        """Returns the positions in FROM of the relations that an expression reads."""
        found = (reference.origin for reference in self._references(node))
        return frozenset(origin[0] for origin in found if origin)

    def column_reference(self, node: exp.Expr) -> ResolvedName | None:
        """Returns the reference if the expression is just a column, otherwise None."""
        while isinstance(node, exp.Paren):
            node = node.this
        reference = self.replace(node) if self.replace else None
        if reference is None and isinstance(node, exp.Column):
            reference = self.scope.resolve(node)
        if reference is None:
            return None
        return None if reference.has_fields else reference

    def is_deterministic(self, node: exp.Expr) -> bool:
        return next(nondeterministic_parts(node), None) is None

    def check(self, node: exp.Expr) -> None:
        """Rejects unsupported parts of an expression and unknown names."""
        for part, reference in self._parts(node):
            if isinstance(part, exp.Query):
                raise subquery_error(part, self.scope.text)
            if reference is None:
                reject_aggregates(part, self.scope.text)
                reject_unknown_function(part, self.scope.text)
        self._references(node)

    def _references(self, node: exp.Expr) -> list[ResolvedName]:
        found = []
        for part, reference in self._parts(node):
            if reference is not None:
                found.append(reference)
            elif isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
                self._refuse_capture(part)
                found.append(self.scope.resolve(part))
                if found[-1].has_fields:
                    reject_unknown_field(part, found[-1], self.scope.text)
        return found

    def _parts(self, node: exp.Expr) -> Iterator[tuple[exp.Expr, ResolvedName | None]]:
        """Yields all parts of an expression; of a replaced part only the whole."""
        reference = self.replace(node) if self.replace else None
        yield node, reference
        if reference is None:
            for part in node.iter_expressions():
                yield from self._parts(part)

    def _refuse_capture(self, column: exp.Column) -> None:
        """Rejects a column that a lambda hides: in `o -> …`, `o.total` refers to the variable."""
        above = column.find_ancestor(exp.Lambda)
        while above is not None:
            names = {variable.name.lower() for variable in above.expressions}
            hidden = next(
                (each for each in self.scope.stream_aliases if each.lower() in names), None
            )
            word = hidden or column.name
            if hidden or (self.scope.is_unqualified and column.name.lower() in names):
                raise PlanError(
                    "MS-PLAN-AMBIGUOUS",
                    f"the lambda's variable {word} hides the {'stream' if hidden else 'column'} "
                    f"{word}.",
                    fix="Give the variable another name.",
                    place=place_of(above, self.scope.text),
                )
            above = above.find_ancestor(exp.Lambda)


def resolved_tree(node: exp.Expr, references: Mapping[int, ResolvedName]) -> exp.Expr:
    """Returns a copy of the user's tree with every reference replaced by its resolved tree.

    `references` are by their start positions in the text.
    """
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
    """Returns the tree of a field of a struct column."""
    tree: exp.Expr = reference.expression.tree.copy()
    for part in node.parts:
        if part.meta.get("start", -1) > reference.end:
            tree = exp.Dot(this=tree, expression=part.copy())
    return tree
