"""Builds the input of an operator from FROM and WHERE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.chain import PlannedJoin, unique_name
from millstream.plan.expressions import Expression, column, join_with_and
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Column, Input, Output, Select, Source
from millstream.plan.nodes.traversal import can_retract, operators_of
from millstream.plan.resolve.event_time import JOIN_OF_QUERY
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation, ResolvedName, Scope
from millstream.plan.resolve.select_list import SelectItem
from millstream.plan.resolve.star import expand_star, is_star, replaced_values
from millstream.plan.resolve.system_columns import with_system_columns
from millstream.sql.text import SourceText
from millstream.temporal import WindowKind

JOINED = "joined"
_CLAUSES = ("group", "having", "qualify", "distinct", "windows")


@dataclass(frozen=True, slots=True)
class RenamedScope(Scope):
    """A scope whose columns a Select below renames."""

    base: Scope | None = None
    names: tuple[tuple[Expression, str], ...] = ()  # (expression over the base, name)
    over: str | None = None  # the Select's alias; None above the operator

    @property
    def star_scope(self) -> Scope:
        assert self.base is not None
        return self.base

    def resolve(self, column: exp.Column) -> ResolvedName:
        return self.output_reference(self.star_scope.resolve(column))

    def output_reference(self, reference: ResolvedName) -> ResolvedName:
        found = reference
        name = dict(self.names)[found.expression]
        output_column = Column(name, found.column.type)
        expression = column(self.over, name, output_column.type)
        return replace(found, expression=expression, reads=((0, name),), column=output_column)

    @property
    def is_unqualified(self) -> bool:
        return self.over is None


@dataclass(frozen=True, slots=True)
class OperatorInput:
    """The input of an operator: `input_expressions` read its rows, `output_scope` its result."""

    alias: str
    name: str
    node: Source | Select
    time: str | None
    window: tuple[str, str] | None  # columns with start and end of a row's window
    input_expressions: ExpressionReader
    output_scope: Scope
    place: Place | None

    @property
    def text(self) -> SourceText:
        return self.input_expressions.scope.text

    @property
    def over_changes(self) -> bool:
        return can_retract(self.node)

    def input(self, time: str | None, used: tuple[str, ...]) -> Input:
        node = with_system_columns(self.node, {time, *used})
        return Input(self.alias, node, time, 0 if time is None else watermark_delay_of(node), used)

    def used(self, items: list[SelectItem], every: bool) -> tuple[str, ...]:
        """Returns the columns that the select list reads, or all columns."""
        reads = {name for item in items for _, name in item.reads}
        return self.columns(reads, every)

    def columns(self, reads: set[str], every: bool) -> tuple[str, ...]:
        names = [column.name for column in self.node.columns]
        found = [name for name in names if every or name in reads]
        return (*found, *sorted(reads - set(names)))


def input_from_stream(
    tree: exp.Select, relation: Relation, where: Expression | None, text: SourceText, *, every: bool
) -> OperatorInput:
    """Builds the input from one stream; a filter becomes a Select below the operator."""
    read = find_references(tree, Scope((relation,), text))
    time, node = relation.time, relation.node
    names = {time, *(name for reference in read for _, name in reference.reads)}
    filtered = {each.name for each in where.columns} if where else set()
    node = with_system_columns(node, names | filtered)
    window = node.window if isinstance(node, Select) else None
    if where is not None:
        names |= set(window or ())
        outputs = tuple(
            Output(relation.refer(each.name, each.type), each.name)
            for each in node.columns
            if every or each.name in names
        )
        node = Select(node, outputs, where, relation.alias, time, window, relation.place)
    inner = replace(relation, node=node, star_columns=relation.columns)
    return OperatorInput(
        relation.alias,
        relation.name,
        node,
        time,
        window,
        ExpressionReader(Scope((inner,), text)),
        Scope((replace(inner, is_unqualified=True),), text),
        relation.place,
    )


def input_from_join(
    tree: exp.Select, planned: PlannedJoin, text: SourceText, *, every: bool
) -> OperatorInput:
    """Builds the input from a join; a Select below the operator gives the columns unique names."""
    scope, join = planned.scope, planned.join
    read = find_references(tree, scope, every=every)
    if any(reference.origin in planned.windows for reference in read):
        read += planned.window_columns()
    names: dict[Expression, str] = {}
    items = []
    times = [planned.time(number) for number in planned.result_times[:1]]
    for reference in (*times, *read):
        if reference.expression not in names:
            name = unique_name(reference, names.values(), scope)
            names[reference.expression] = name
            output = Output(reference.expression, name)
            items.append(SelectItem(output, frozenset(reference.reads), reference, None))
    time, window = planned.event_time_output(items), planned.window(items)
    reads = {read for item in items for read in item.reads}
    node = Select(
        input=planned.with_used_columns(reads),
        outputs=tuple(item.output for item in items),
        where=join_with_and(planned.where),
        time=time,
        window=window,
        place=join.place,
    )
    relation = Relation(JOINED, JOIN_OF_QUERY, node, join.place)
    renamed = RenamedScope((relation,), text, base=scope, names=tuple(names.items()), over=JOINED)
    above = replace(renamed, relations=(replace(relation, is_unqualified=True),), over=None)
    return OperatorInput(
        JOINED, JOIN_OF_QUERY, node, time, window, ExpressionReader(renamed), above, join.place
    )


def find_references(tree: exp.Select, scope: Scope, *, every: bool = False) -> list[ResolvedName]:
    """Returns the columns that the clauses after FROM and WHERE read; skips unknown names, which
    are rejected where they are used."""
    return list(
        {found.expression: found for found in _iterate_references(tree, scope, every)}.values()
    )


def _iterate_references(tree: exp.Select, scope: Scope, every: bool) -> Iterator[ResolvedName]:
    for item in [exp.Star()] if every else tree.expressions:
        if is_star(item):
            with suppress(PlanError):
                yield from (
                    each.reference for each in expand_star(item, scope, None) if each.value is None
                )
    items = [
        part
        for item in tree.expressions
        for part in (replaced_values(item) if is_star(item) else [item])
    ]
    for part in (*items, *(tree.args.get(name) for name in _CLAUSES)):
        for node in part if isinstance(part, list) else [part]:
            for found in node.find_all(exp.Column) if node is not None else ():
                if not isinstance(found.this, exp.Star):
                    with suppress(PlanError):
                        yield scope.resolve(found)


def has_session_windows(stream: OperatorInput) -> bool:
    """Tests whether the rows' windows are sessions, which need start and end as identity."""
    operators = operators_of(stream.node)
    windows = [kind_of(operator).window(operator) for operator in operators]
    return any(window and window.kind is WindowKind.SESSION for window in windows)
