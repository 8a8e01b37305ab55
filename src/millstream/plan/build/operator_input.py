"""FROM and WHERE of a query as the input of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.chain import PlannedJoin, new_name
from millstream.plan.expressions import Expression, all_of, column
from millstream.plan.facts.watermark_delay import lag_of
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Column, Input, Output, Select, Source
from millstream.plan.nodes.traversal import operators_of, retracts
from millstream.plan.resolve.event_time import THE_JOIN
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Reference, Relation, Scope
from millstream.plan.resolve.select_list import Item, expanded, is_star
from millstream.plan.resolve.system_columns import with_hidden
from millstream.sql.text import SourceText
from millstream.temporal import WindowKind

JOINED = "joined"
_CLAUSES = ("group", "having", "qualify", "distinct", "windows")


@dataclass(frozen=True, slots=True)
class LiftedScope(Scope):
    """A scope whose columns a Select below offers under other names."""

    base: Scope | None = None
    names: tuple[tuple[Expression, str], ...] = ()  # (expression over the base, name)
    over: str | None = None  # the Select's alias; None over the operator

    @property
    def origin(self) -> Scope:
        assert self.base is not None
        return self.base

    def resolve(self, column: exp.Column) -> Reference:
        return self.lifted(self.origin.resolve(column))

    def lifted(self, reference: Reference) -> Reference:
        found = reference
        name = dict(self.names)[found.expression]
        kept = Column(name, found.column.type)
        expression = column(self.over, name, kept.type)
        return replace(found, expression=expression, reads=((0, name),), column=kept)

    @property
    def plain(self) -> bool:
        return self.over is None


@dataclass(frozen=True, slots=True)
class Base:
    """What an operator reads. `below` reads texts over its input, `above` over its result."""

    alias: str
    name: str
    node: Source | Select
    time: str | None
    window: tuple[str, str] | None  # columns that carry the window of a row
    below: Expressions
    above: Scope
    place: Place | None

    @property
    def text(self) -> SourceText:
        return self.below.scope.text

    @property
    def over_changes(self) -> bool:
        return retracts(self.node)

    def input(self, time: str | None, used: tuple[str, ...]) -> Input:
        node = with_hidden(self.node, {time, *used})
        return Input(self.alias, node, time, 0 if time is None else lag_of(node), used)

    def used(self, items: list[Item], every: bool) -> tuple[str, ...]:
        """The columns that the operator's users read, or every one."""
        reads = {name for item in items for _, name in item.reads}
        return self.columns(reads, every)

    def columns(self, reads: set[str], every: bool) -> tuple[str, ...]:
        names = [column.name for column in self.node.columns]
        found = [name for name in names if every or name in reads]
        return (*found, *sorted(reads - set(names)))


def of_relation(
    tree: exp.Select, relation: Relation, where: Expression | None, text: SourceText, *, every: bool
) -> Base:
    """One stream, filtered by a Select below if there is a filter."""
    read = read_by(tree, Scope((relation,), text))
    time, node = relation.time, relation.node
    names = {time, *(name for reference in read for _, name in reference.reads)}
    node = with_hidden(node, names)
    window = node.window if isinstance(node, Select) else None
    if where is not None:
        names |= set(window or ())
        outputs = tuple(
            Output(relation.refer(each.name, each.type), each.name)
            for each in node.columns
            if every or each.name in names
        )
        node = Select(node, outputs, where, relation.alias, time, window, relation.place)
    inner = replace(relation, node=node, listed=relation.columns)
    return Base(
        relation.alias,
        relation.name,
        node,
        time,
        window,
        Expressions(Scope((inner,), text)),
        Scope((replace(inner, plain=True),), text),
        relation.place,
    )


def of_join(tree: exp.Select, planned: PlannedJoin, text: SourceText, *, every: bool) -> Base:
    """The result of a join: a Select below gives every column that is read a name of its own."""
    scope, join = planned.scope, planned.join
    read = read_by(tree, scope, every=every)
    if any(reference.origin in planned.windows for reference in read):
        read += planned.window_columns()
    names: dict[Expression, str] = {}
    items = []
    times = [planned.time(number) for number in planned.result_times[:1]]
    for reference in (*times, *read):
        if reference.expression not in names:
            name = new_name(reference, names.values(), scope)
            names[reference.expression] = name
            output = Output(reference.expression, name)
            items.append(Item(output, frozenset(reference.reads), reference, None))
    time, window = planned.carried(items), planned.window(items)
    reads = {read for item in items for read in item.reads}
    node = Select(
        input=planned.used_by(reads),
        outputs=tuple(item.output for item in items),
        where=all_of(planned.where),
        time=time,
        window=window,
        place=join.place,
    )
    relation = Relation(JOINED, THE_JOIN, node, join.place)
    lifted = LiftedScope((relation,), text, base=scope, names=tuple(names.items()), over=JOINED)
    above = replace(lifted, relations=(replace(relation, plain=True),), over=None)
    return Base(JOINED, THE_JOIN, node, time, window, Expressions(lifted), above, join.place)


def read_by(tree: exp.Select, scope: Scope, *, every: bool = False) -> list[Reference]:
    """What the clauses of a query after FROM and WHERE read; names that mean nothing here are
    refused where they are used."""
    return list({found.expression: found for found in _read_by(tree, scope, every)}.values())


def _read_by(tree: exp.Select, scope: Scope, every: bool) -> Iterator[Reference]:
    for item in [exp.Star()] if every else tree.expressions:
        if is_star(item):
            yield from (found.bare for found in expanded(item, scope, None) if found.bare)
    parts = [tree.args.get(name) for name in _CLAUSES]
    for part in (*tree.expressions, *parts):
        for node in part if isinstance(part, list) else [part]:
            for found in node.find_all(exp.Column) if node is not None else ():
                if not isinstance(found.this, exp.Star):
                    with suppress(PlanError):
                        yield scope.resolve(found)


def of_sessions(base: Base) -> bool:
    """Are the rows' windows sessions, which a start alone does not tell apart?"""
    operators = operators_of(base.node)
    windows = [kind_of(operator).window(operator) for operator in operators]
    return any(window and window.kind is WindowKind.SESSION for window in windows)
