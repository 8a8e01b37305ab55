"""Resolves the select list: names, types, `*`, and the output that carries the event time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, parenthesise_if_needed, to_spark_sql
from millstream.plan.nodes import WINDOW_END, WINDOW_START, Column, Output
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import ResolvedName, Scope
from millstream.plan.resolve.size_limits import reject_many_columns
from millstream.sql.spans import span_of


@dataclass(frozen=True, slots=True)
class SelectItem:
    """An output, the columns it reads, and the reference if it is just a column."""

    output: Output
    reads: frozenset[tuple[int, str]]
    reference: ResolvedName | None
    place: Place | None


def read_outputs(tree: exp.Select, expressions: ExpressionReader) -> Iterator[SelectItem]:
    for count, item in enumerate(_read_outputs(tree, expressions), 1):
        reject_many_columns(count, item.place)
        yield item


def _read_outputs(tree: exp.Select, expressions: ExpressionReader) -> Iterator[SelectItem]:
    for item in tree.expressions:
        place = place_of(item, expressions.scope.text)
        if is_star(item):
            yield from expand_star(item, expressions.scope, place)
            continue
        if isinstance(item, exp.Aliases):
            raise not_supported("several names for one expression", place)
        value = item.this if isinstance(item, exp.Alias) else item
        expressions.check(value)
        expression = expressions.read(value)
        if expression is None:
            raise not_supported("this expression", place)
        bare = expressions.column_reference(value)
        name = item.alias if isinstance(item, exp.Alias) else _default_name(value, expressions)
        output = Output(expression, name)
        yield SelectItem(output, expressions.columns_read(value), bare, place)


def is_star(item: exp.Expr) -> bool:
    """Returns whether an item of the select list is `*` or `alias.*`."""
    return isinstance(item, exp.Star) or (
        isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
    )


def _default_name(value: exp.Expr, expressions: ExpressionReader) -> str:
    """Returns the name of a column or field, or the text of another expression."""
    while isinstance(value, exp.Paren):
        value = value.this
    if isinstance(value, exp.Column | exp.Dot):
        return value.name
    return expressions.source_sql(value)


def expand_star(item: exp.Expr, scope: Scope, place: Place | None) -> Iterator[SelectItem]:
    """Yields the outputs of `*` or `alias.*`."""
    for found in _star_columns(item, scope.star_scope, place):
        assert found.reference is not None
        bare = scope.output_reference(found.reference)
        output = Output(bare.expression, found.output.name)
        yield SelectItem(output, frozenset(bare.reads), bare, place)


def _star_columns(item: exp.Expr, scope: Scope, place: Place | None) -> Iterator[SelectItem]:
    """Yields the columns of a scope; with USING, `*` begins with the shared columns."""
    star = item.this if isinstance(item, exp.Column) else item
    if any(star.args.values()):
        raise not_supported("* EXCEPT", place)
    numbers = list(range(len(scope.relations)))
    hidden: set[str] = set()
    if isinstance(item, exp.Column):
        if item.args.get("db"):
            raise not_supported("the * of a struct", place)
        number, _ = scope.relation(item.table, place)
        numbers = [number]
    else:
        yield from _shared_columns(scope, place, last=False)
        hidden = set(scope.shared_names(last=False))
    for number in numbers:
        relation = scope.relations[number]
        for column in relation.columns if relation.star_columns is None else relation.star_columns:
            if column.name.lower() in hidden:
                continue
            bare = scope.refer(number, column)
            output = Output(bare.expression, column.name)
            yield SelectItem(output, frozenset(bare.reads), bare, place)
    if not isinstance(item, exp.Column):
        yield from _shared_columns(scope, place, last=True)


def _shared_columns(scope: Scope, place: Place | None, *, last: bool) -> Iterator[SelectItem]:
    for name in scope.shared_names(last=last):
        bare = scope.shared_column(name)
        assert bare is not None
        output = Output(bare.expression, bare.column.name)
        yield SelectItem(output, frozenset(bare.reads), bare, place)


def require_distinct_names(
    items: list[SelectItem], scope: Scope, place: Place | None
) -> tuple[Output, ...]:
    seen: dict[str, SelectItem] = {}
    twice: list[SelectItem] = []
    for item in items:
        key = item.output.name.lower()
        if key in seen:
            twice.append(item)
        seen.setdefault(key, item)
    if twice:
        names = ", ".join(item.output.name for item in twice)
        alias = _new_name(twice[0], scope)
        raise PlanError(
            "MS-PLAN-DUPLICATE-COLUMN",
            f"the result has more than one column {names}.",
            fix="List the columns and rename one of each: "
            f"{_item_sql(twice[0], scope)} AS {alias}.",
            place=twice[0].place or place,
        )
    return tuple(item.output for item in items)


def _item_sql(item: SelectItem, scope: Scope) -> str:
    """Returns an output as the user would write it, without internal names of joins."""
    origin = item.reference.origin if item.reference else None
    if origin and 0 <= origin[0] < len(scope.relations):
        return scope.relations[origin[0]].display_sql(origin[1])
    return "…" if item.reference else to_spark_sql(item.output.expression)


def _new_name(item: SelectItem, scope: Scope) -> str:
    origin = item.reference.origin if item.reference else None
    numbers = {origin[0]} if origin else {number for number, _ in item.reads}
    if len(numbers) == 1 and 0 <= min(numbers) < len(scope.relations):
        relation = scope.relations[numbers.pop()]
        if not relation.is_unnamed:
            return f"{relation.alias}_{item.output.name}"
    return f"{item.output.name}_2"


def find_time_output(
    items: list[SelectItem], times: tuple[tuple[int, str | None], ...]
) -> str | None:
    """Returns the first output that is a reference to one of the event times, in their order."""
    for time in times:
        for item in items:
            if item.reference and item.reference.reads == (time,):
                return item.output.name
    return None


def find_window_outputs(items: list[SelectItem]) -> tuple[str, str] | None:
    """Returns the outputs that are a window's start and end, if both exist."""
    start, end = (find_time_output(items, ((0, name),)) for name in (WINDOW_START, WINDOW_END))
    return (start, end) if start and end else None


@dataclass(frozen=True, slots=True)
class AliasScope(Scope):
    """A scope with the aliases of the select list; columns have precedence."""

    base: Scope | None = None
    aliases: Mapping[str, Expression] = field(default_factory=dict)  # by lower name

    def resolve(self, column: exp.Column) -> ResolvedName:
        assert self.base is not None
        try:
            return self.base.resolve(column)
        except PlanError:
            found = self.aliases.get(column.name.lower())
            if found is None or len(column.parts) > 1:
                raise
        return ResolvedName(
            parenthesise_if_needed(found),
            *(span_of(column) or (0, 0)),
            (),
            Column(column.name),
            False,
        )

    @property
    def is_unqualified(self) -> bool:
        assert self.base is not None
        return self.base.is_unqualified


def with_aliases(scope: Scope, items: list[SelectItem]) -> AliasScope:
    aliases = {item.output.name.lower(): item.output.expression for item in items}
    return AliasScope(scope.relations, scope.text, base=scope, aliases=aliases)
