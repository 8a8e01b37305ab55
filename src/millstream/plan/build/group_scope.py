"""Resolves expressions over groups: keys, window and aggregates become the Aggregate's columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.aggregate_calls import AggregateCalls, parse_call
from millstream.plan.expressions import Expression, column, parenthesise_if_needed, to_spark_sql
from millstream.plan.nodes import WINDOW_END, WINDOW_START, WINDOW_TIME, Column, Output
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import ResolvedName, Scope
from millstream.sql.spans import span_of

_WINDOW = (WINDOW_START, WINDOW_END, WINDOW_TIME)


@dataclass(slots=True)
class GroupColumns:
    """The columns of an Aggregate that replace keys, window and calls. `below` reads the input."""

    below: ExpressionReader
    windowed: bool
    calls: AggregateCalls
    keys: list[Output] = field(default_factory=list)
    columns: dict[str, Column] = field(default_factory=dict)  # by the canonical text of a key

    def add_key(self, node: exp.Expr) -> None:
        self.below.check(node)
        expression = self.below.read(node)
        if expression is None:
            raise not_supported("this key", place_of(node, self.below.scope.text))
        canonical = self.canonical(node)
        if canonical is None or canonical in self.columns:
            return
        key = Output(expression, f"k{len(self.keys)}")
        self.keys.append(key)
        self.columns[canonical] = Column(key.name, key.type)

    def replace(self, node: exp.Expr) -> ResolvedName | None:
        """Returns the column of the Aggregate that replaces a part of an expression."""
        span = span_of(node)
        if span is None:
            return None
        if isinstance(node, exp.Column):
            return self._column(node, span)
        if parsed := parse_call(node):
            result = self.calls.add(node, parsed)
            read = Column(to_spark_sql(result), result.type)
            return ResolvedName(result, *span, ((0, read.name),), read, False)
        canonical = self.canonical(node)
        found = self.columns.get(canonical) if canonical else None
        return _reference(span, found) if found else None

    def _column(self, node: exp.Column, span: tuple[int, int]) -> ResolvedName | None:
        if self.windowed and len(node.parts) == 1 and node.name.lower() in _WINDOW:
            return _reference(span, Column(node.name.lower(), "TIMESTAMP"))
        try:
            found = self.below.scope.resolve(node)
        except PlanError:
            return None
        rest = [part.name for part in node.parts if part.meta.get("start", 0) > found.end]
        if whole := self.columns.get(_dotted(found, rest)):
            return _reference(span, whole)
        if owner := self.columns.get(_dotted(found)):  # a field of a key
            return _reference((span[0], found.end), owner, has_fields=True)
        return None

    def canonical(self, node: exp.Expr) -> str | None:
        """Returns the normalized text of an expression; None if it does not read only the input."""
        inner = node
        while isinstance(inner, exp.Paren):
            inner = inner.this
        try:
            return inner.transform(self._named).sql("spark", normalize_functions="lower")
        except PlanError:
            return None

    def _named(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        found = self.below.scope.resolve(node)
        rest = [part.name for part in node.parts if part.meta.get("start", 0) > found.end]
        return exp.Var(this=_dotted(found, rest))


def _dotted(found: ResolvedName, rest: Iterable[str] = ()) -> str:
    return ".".join([to_spark_sql(found.expression), *rest])


def _reference(span: tuple[int, int], found: Column, *, has_fields: bool = False) -> ResolvedName:
    expression = column(None, found.name, found.type)
    return ResolvedName(expression, *span, ((0, found.name),), found, has_fields)


@dataclass(frozen=True, slots=True)
class GroupScope(Scope):
    """Resolves names that are neither key nor aggregate: aliases of the select list, or errors."""

    below: Scope | None = None
    aliases: Mapping[str, Expression] = field(default_factory=dict)  # by lower name
    has_keys: bool = False

    def resolve(self, column: exp.Column) -> ResolvedName:
        assert self.below is not None
        span = span_of(column) or (0, 0)
        if len(column.parts) == 1 and column.name.lower() in self.aliases:
            expression = parenthesise_if_needed(self.aliases[column.name.lower()])
            return ResolvedName(expression, *span, (), Column(column.name), False)
        found = self.below.resolve(column)  # rejects an unknown column
        written = ".".join(part.name for part in column.parts)
        raise not_grouped_error(written, found, place_of(column, self.text), self.has_keys)


def not_grouped_error(
    text: str, found: ResolvedName, place: Place | None, has_keys: bool
) -> PlanError:
    name = found.column.name
    key = f"Add {text} to GROUP BY" if has_keys else f"Add GROUP BY {text}"
    return PlanError(
        "MS-PLAN-GROUP",
        f"{name} is neither a GROUP BY key nor inside an aggregate.",
        fix=f"{key}, or write any_value({text}) or max({text}).",
        place=place,
    )
