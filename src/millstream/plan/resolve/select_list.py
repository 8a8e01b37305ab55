"""Resolves the select list: names, types, `*`, and the output that carries the event time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, parenthesise_if_needed, to_spark_sql
from millstream.plan.nodes import WINDOW_END, WINDOW_START, Column, Output
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import ResolvedName, Scope
from millstream.plan.resolve.size_limits import reject_many_columns
from millstream.plan.resolve.star import expand_star, is_star
from millstream.sql.spans import span_of


@dataclass(frozen=True, slots=True)
class SelectItem:
    """An output, the columns it reads, and the reference if it is just a column."""

    output: Output
    reads: frozenset[tuple[int, str]]
    reference: ResolvedName | None
    place: Place | None
    from_star: bool = False
    suffix: str = ""  # of a column of `*`: appended to a repeated name


def read_outputs(tree: exp.Select, expressions: ExpressionReader) -> Iterator[SelectItem]:
    items = _with_suffixes(_read_outputs(tree, expressions), expressions.scope)
    for count, item in enumerate(items, 1):
        reject_many_columns(count, item.place)
        yield item


def _read_outputs(tree: exp.Select, expressions: ExpressionReader) -> Iterator[SelectItem]:
    for item in tree.expressions:
        place = place_of(item, expressions.scope.text)
        if is_star(item):
            yield from _read_star(item, expressions, place)
            continue
        if isinstance(item, exp.Aliases):
            raise not_supported("several names for one expression", place)
        value = item.this if isinstance(item, exp.Alias) else item
        name = item.alias if isinstance(item, exp.Alias) else None
        yield _read_item(value, name, expressions, place)


def _read_item(
    value: exp.Expr, name: str | None, expressions: ExpressionReader, place: Place | None
) -> SelectItem:
    expressions.check(value)
    expression = expressions.read(value)
    if expression is None:
        raise not_supported("this expression", place)
    output = Output(expression, _default_name(value, expressions) if name is None else name)
    bare = expressions.column_reference(value)
    return SelectItem(output, expressions.columns_read(value), bare, place)


def _default_name(value: exp.Expr, expressions: ExpressionReader) -> str:
    """Returns the name of a column or field, or the text of another expression."""
    while isinstance(value, exp.Paren):
        value = value.this
    if isinstance(value, exp.Column | exp.Dot):
        return value.name
    return expressions.source_sql(value)


def _read_star(
    item: exp.Expr, expressions: ExpressionReader, place: Place | None
) -> Iterator[SelectItem]:
    for column in expand_star(item, expressions.scope, place):
        if column.value is not None:
            yield _read_item(column.value, column.name, expressions, place)
            continue
        found = column.reference
        output = Output(found.expression, column.name)
        yield SelectItem(output, frozenset(found.reads), found, place, True, column.suffix)


def _with_suffixes(items: Iterable[SelectItem], scope: Scope) -> Iterator[SelectItem]:
    """Yields the items; in a join, repeated names of `*` get the suffix of their stream."""
    joined = len(scope.star_scope.relations) > 1
    taken: dict[str, SelectItem] = {}
    for item in items:
        name = item.output.name
        while item.suffix and joined and (other := taken.get(name.lower())):
            if (
                other.reference
                and item.reference
                and other.reference.origin == item.reference.origin
            ):
                break  # the same column twice
            name += item.suffix
        found = (
            item
            if name == item.output.name
            else replace(item, output=replace(item.output, name=name))
        )
        taken.setdefault(name.lower(), found)
        yield found


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
        raise PlanError(
            "MS-PLAN-DUPLICATE-COLUMN",
            f"the result has more than one column {names}.",
            fix=_rename_fix(twice[0], seen[twice[0].output.name.lower()], scope),
            place=twice[0].place or place,
        )
    return tuple(item.output for item in items)


def _rename_fix(item: SelectItem, first: SelectItem, scope: Scope) -> str:
    relations = scope.star_scope.relations
    origin = item.reference.origin if item.reference else None
    if item.from_star and origin and 0 <= origin[0] < len(relations):
        relation = relations[origin[0]]
        if relation.is_unnamed:
            return f"Give {relation.name} an alias, which is added to the name."
    if first.from_star and not item.from_star and len(relations) == 1:
        return f"Write * REPLACE ({_item_sql(item, scope)} AS {item.output.name}), or rename it."
    alias = _new_name(item, scope)
    return f"List the columns and rename one of each: {_item_sql(item, scope)} AS {alias}."


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
            return f"{item.output.name}_{relation.alias}"
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
