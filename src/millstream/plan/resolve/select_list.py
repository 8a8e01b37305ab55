"""The select list: names, types, `*`, and which output carries the event time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.expressions import to_spark_sql
from millstream.plan.nodes import WINDOW_END, WINDOW_START, Output
from millstream.plan.reject import not_yet, place_of
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Reference, Scope
from millstream.plan.resolve.size_limits import reject_many_columns


@dataclass(frozen=True, slots=True)
class Item:
    """An output, the columns it reads, and the reference if it is nothing else."""

    output: Output
    reads: frozenset[tuple[int, str]]
    bare: Reference | None
    place: Place | None


def outputs_of(tree: exp.Select, expressions: Expressions) -> Iterator[Item]:
    for count, item in enumerate(_outputs(tree, expressions), 1):
        reject_many_columns(count, item.place)
        yield item


def _outputs(tree: exp.Select, expressions: Expressions) -> Iterator[Item]:
    for item in tree.expressions:
        place = place_of(item, expressions.scope.text)
        if is_star(item):
            yield from expanded(item, expressions.scope, place)
            continue
        if isinstance(item, exp.Aliases):
            raise not_yet("several names for one expression", place)
        value = item.this if isinstance(item, exp.Alias) else item
        expressions.check(value)
        expression = expressions.read(value)
        if expression is None:
            raise not_yet("this expression", place)
        bare = expressions.bare(value)
        name = item.alias if isinstance(item, exp.Alias) else _own_name(value, expressions)
        output = Output(expression, name)
        yield Item(output, expressions.reads(value), bare, place)


def is_star(item: exp.Expr) -> bool:
    """Is a member of the select list `*` or `alias.*`?"""
    return isinstance(item, exp.Star) or (
        isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
    )


def _own_name(value: exp.Expr, expressions: Expressions) -> str:
    """A column or a field keeps its own name; anything else is called by its text."""
    while isinstance(value, exp.Paren):
        value = value.this
    if isinstance(value, exp.Column | exp.Dot):
        return value.name
    return expressions.written(value)


def expanded(item: exp.Expr, scope: Scope, place: Place | None) -> Iterator[Item]:
    """The outputs of `*` or `alias.*`."""
    for found in _starred(item, scope.origin, place):
        assert found.bare is not None
        bare = scope.lifted(found.bare)
        output = Output(bare.expression, found.output.name)
        yield Item(output, frozenset(bare.reads), bare, place)


def _starred(item: exp.Expr, scope: Scope, place: Place | None) -> Iterator[Item]:
    """The columns of a scope; over USING, `*` begins with the merged ones."""
    star = item.this if isinstance(item, exp.Column) else item
    if any(star.args.values()):
        raise not_yet("* EXCEPT", place)
    numbers = list(range(len(scope.relations)))
    hidden: set[str] = set()
    if isinstance(item, exp.Column):
        if item.args.get("db"):
            raise not_yet("the * of a struct", place)
        number, _ = scope.relation(item.table, place)
        numbers = [number]
    else:
        yield from _shared(scope, place, last=False)
        hidden = set(scope.shared_names(last=False))
    for number in numbers:
        relation = scope.relations[number]
        for column in relation.columns if relation.listed is None else relation.listed:
            if column.name.lower() in hidden:
                continue
            bare = scope.refer(number, column)
            output = Output(bare.expression, column.name)
            yield Item(output, frozenset(bare.reads), bare, place)
    if not isinstance(item, exp.Column):
        yield from _shared(scope, place, last=True)


def _shared(scope: Scope, place: Place | None, *, last: bool) -> Iterator[Item]:
    for name in scope.shared_names(last=last):
        bare = scope.shared(name)
        assert bare is not None
        output = Output(bare.expression, bare.column.name)
        yield Item(output, frozenset(bare.reads), bare, place)


def distinct(items: list[Item], scope: Scope, place: Place | None) -> tuple[Output, ...]:
    seen: dict[str, Item] = {}
    twice: list[Item] = []
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
            f"the result has more than one column called {names}.",
            fix=f"List the columns and rename one of each: {_written(twice[0], scope)} AS {alias}.",
            place=twice[0].place or place,
        )
    return tuple(item.output for item in items)


def _written(item: Item, scope: Scope) -> str:
    """An output as a user would write it, who knows nothing of names between joins."""
    origin = item.bare.origin if item.bare else None
    if origin and 0 <= origin[0] < len(scope.relations):
        return scope.relations[origin[0]].shown(origin[1])
    return "…" if item.bare else to_spark_sql(item.output.expression)


def _new_name(item: Item, scope: Scope) -> str:
    origin = item.bare.origin if item.bare else None
    numbers = {origin[0]} if origin else {number for number, _ in item.reads}
    if len(numbers) == 1 and 0 <= min(numbers) < len(scope.relations):
        relation = scope.relations[numbers.pop()]
        if not relation.unnamed:
            return f"{relation.alias}_{item.output.name}"
    return f"{item.output.name}_2"


def carrying(items: list[Item], times: tuple[tuple[int, str | None], ...]) -> str | None:
    """The first output that is a bare reference to one of the event times, in their order."""
    for time in times:
        for item in items:
            if item.bare and item.bare.reads == (time,):
                return item.output.name
    return None


def carrying_window(items: list[Item]) -> tuple[str, str] | None:
    """The outputs that are nothing but a window's start and end, if both are there."""
    start, end = (carrying(items, ((0, name),)) for name in (WINDOW_START, WINDOW_END))
    return (start, end) if start and end else None
