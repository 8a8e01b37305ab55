"""Chains the joins of a FROM clause: the result of one join is the left side of the next.

A Select between two joins gives each column that is read above it a unique name. The columns are
known only when the whole query is planned, so names are assigned on demand and the Select is built
last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields, replace

from millstream.plan.build.joins.event_times import WINDOW, EventTimes
from millstream.plan.expressions import ColumnReference, Expression, column, join_with_and
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Column,
    Input,
    Join,
    Key,
    Output,
    Select,
    TableJoin,
    TableKey,
)
from millstream.plan.nodes.traversal import can_retract
from millstream.plan.resolve.scope import ResolvedName, Scope
from millstream.plan.resolve.select_list import SelectItem
from millstream.plan.resolve.system_columns import with_system_columns
from millstream.temporal import LateAction

Reads = frozenset[tuple[int, str]]
Origin = tuple[int, str]  # the number of a relation, and its column
WINDOW_COLUMNS: tuple[Origin, Origin] = (WINDOW, WINDOW_START), (WINDOW, WINDOW_END)


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """A join, the scope of its result, and the terms of WHERE that filter its output."""

    join: Join | TableJoin
    scope: Scope
    where: tuple[Expression, ...]
    reads: Reads
    times: EventTimes
    time_order: tuple[int, ...]  # the event times of the result, the preferred one first
    keys: tuple[Key | TableKey, ...] = ()  # without the key of a window
    key_reads: Reads = frozenset()
    below: JoinResult | None = None  # the left side, if it is the result of other joins
    added_columns: tuple[str, ...] = ()  # columns that are not part of a late row
    windows: tuple[Origin, Origin] = WINDOW_COLUMNS  # the columns with start and end of a window

    @property
    def retracts(self) -> bool:
        """Whether the result can retract rows; a table join passes retractions on."""
        if not isinstance(self.join, TableJoin):
            return self.join.retracts
        return self.below.planned.retracts if self.below else can_retract(self.join.left.node)

    def use_time(self, number: int) -> None:
        """Sets the event time of the result of a table join."""
        if isinstance(self.join, TableJoin) and self.below is not None:
            self.below.use_time(number)

    def with_used_columns(self, reads: Collection[tuple[int, str]]) -> Join | TableJoin:
        """Returns the join with the input columns that are read by it or above it."""
        used = [{name for index, name in {*reads, *self.reads} if index == side} for side in (0, 1)]
        if isinstance(self.join, TableJoin):
            columns = (each.name for each in self.join.table.columns)
            return replace(
                self.join,
                left=self._stream_input(self.join.left, used[0]),
                used=tuple(name for name in columns if name in used[1]),
            )
        every = self.join.late.action is LateAction.SIDE_OUTPUT
        sides = []
        for number, side in enumerate((self.join.left, self.join.right)):
            made = self.below.select() if number == 0 and self.below is not None else side.node
            own = {each.name for each in _references(self.join) if each.alias == side.alias}
            node = with_system_columns(made, {*used[number], *own, side.time, side.progress})
            names = tuple(
                each.name
                for each in node.columns
                if each.name in used[number] or (every and each.name not in self.added_columns)
            )
            lag = 0 if side.time is None else watermark_delay_of(node)
            sides.append(replace(side, node=node, used=names, delay=lag))
        return replace(self.join, left=sides[0], right=sides[1])

    def _stream_input(self, side: Input, used: Collection[str]) -> Input:
        """Returns the input of a table join, with its event time."""
        made = side.node if self.below is None else self.below.select()
        node = with_system_columns(made, used)
        names = tuple(each.name for each in node.columns if each.name in used)
        lag = 0 if node.time is None else watermark_delay_of(node)
        return replace(side, node=node, time=node.time, used=names, delay=lag)

    def time(self, number: int) -> ResolvedName:
        """Returns the event time of a relation or of the window."""
        if number == WINDOW:
            found = self.scope.shared_column(WINDOW_TIME)
            assert found is not None
            return found
        return self.scope.refer(number, Column(self.times.columns[number], "TIMESTAMP"))

    @property
    def result_times(self) -> list[int]:
        """The event times that are never NULL in the result, the preferred one first."""
        return [number for number in self.time_order if number in self.times.non_null]

    def event_time_output(self, items: list[SelectItem]) -> str | None:
        """Returns the output with an event time that is never NULL, and uses that time."""
        for number in self.result_times:
            wanted = (number, self.times.columns[number])
            for item in items:
                if item.reference and item.reference.origin == wanted:
                    self.use_time(number)
                    return item.output.name
        return None

    def window(self, items: list[SelectItem]) -> tuple[str, str] | None:
        """Returns the outputs with start and end of a row's window, if the query selects both."""
        found = [
            next(
                (i.output.name for i in items if i.reference and i.reference.origin == origin), None
            )
            for origin in self.windows
        ]
        return (found[0], found[1]) if found[0] and found[1] else None

    def window_columns(self) -> list[ResolvedName]:
        """Returns the columns with start and end of a row's window."""
        found = []
        for number, name in self.windows:
            shared = self.scope.shared_column(name) if number == WINDOW else None
            found.append(shared or self.scope.refer(number, Column(name, "TIMESTAMP")))
        return found


@dataclass(slots=True)
class JoinResult:
    """The result of joins as a stream. `time` is the column with its event time."""

    planned: PlannedJoin
    alias: str
    time: str | None = None
    wrap: Callable[[Select], Select] | None = None  # adds a step above it, such as windows
    items: dict[Expression, SelectItem] = field(
        default_factory=dict
    )  # by the expression over the join

    def output_name(self, reference: ResolvedName) -> str:
        """Returns the output name of a column of the joins, and adds the output on demand."""
        if reference.expression not in self.items:
            taken = {item.output.name for item in self.items.values()}
            name = unique_name(reference, taken, self.planned.scope)
            output = Output(reference.expression, name)
            item = SelectItem(output, frozenset(reference.reads), reference, None)
            self.items[reference.expression] = item
        return self.items[reference.expression].output.name

    def use_time(self, number: int) -> str:
        """Sets the event time of the stream and returns the name of its column."""
        self.time = self.output_name(self.planned.time(number))
        self.planned.use_time(number)
        return self.time

    def use_shared_time(self, name: str) -> str:
        """Sets the event time to a column that the joins below share, and returns its name."""
        found = self.shared(name)
        self.time = self.output_name(found)
        below = self.planned.below
        if isinstance(self.planned.join, TableJoin) and below is not None:
            below.use_shared_time(name)
        return self.time

    def shared(self, name: str) -> ResolvedName:
        found = self.planned.scope.shared_column(name)
        assert found is not None, f"the joins below share no {name}"
        return found

    def output_reference(self, reference: ResolvedName) -> ResolvedName:
        name = self.output_name(reference)
        output_column = Column(name, reference.column.type)
        expression = column(self.alias, name, output_column.type)
        return replace(reference, expression=expression, reads=((0, name),), column=output_column)

    def select(self) -> Select:
        reads = {read for item in self.items.values() for read in item.reads}
        select = Select(
            input=self.planned.with_used_columns(reads),
            outputs=tuple(item.output for item in self.items.values()),
            where=join_with_and(self.planned.where),
            time=self.time,
            place=self.planned.join.place,
        )
        return self.wrap(select) if self.wrap else select


def unique_name(reference: ResolvedName, taken: Collection[str], scope: Scope) -> str:
    """Returns the column's name; if it is used already, prefixed with the relation's alias."""
    lower = {name.lower() for name in taken}
    name = reference.column.name
    if name.lower() in lower and reference.origin and reference.origin[0] >= 0:
        name = f"{scope.relations[reference.origin[0]].alias}_{name}"
    while name.lower() in lower:
        name += "_"
    return name


@dataclass(frozen=True, slots=True)
class ChainScope(Scope):
    """The scope over a join whose left side is a JoinResult with renamed columns."""

    left: JoinResult | None = None

    @property
    def _left(self) -> JoinResult:
        assert self.left is not None
        return self.left

    @property
    def stream_aliases(self) -> tuple[str, ...]:
        return (*(relation.alias for relation in self.relations), self._left.alias)

    def refer(self, number: int, column: Column) -> ResolvedName:
        below = self._left.planned.scope
        if number < len(below.relations):
            # `*` and users see the name of the relation's column.
            join_result = self._left.output_reference(below.refer(number, column))
            return replace(join_result, column=Column(column.name, join_result.column.type))
        own = self.relations[number].refer(column.name, column.type)
        return ResolvedName(own, 0, 0, ((1, column.name),), column, False, (number, column.name))

    def shared_column(self, name: str) -> ResolvedName | None:
        own = Scope.shared_column(self, name)
        if own is not None:
            return own
        below = self._left.planned.scope.shared_column(name)
        if below is None:
            return None
        return replace(self._left.output_reference(below), column=below.column)

    def unreadable_reason(self, name: str) -> str:
        return Scope.unreadable_reason(self, name) or self._left.planned.scope.unreadable_reason(
            name
        )

    def shared_names(self, *, last: bool) -> tuple[str, ...]:
        own = Scope.shared_names(self, last=last)
        below = self._left.planned.scope.shared_names(last=last)
        return (*(name for name in below if name not in self.shared_columns), *own)


def _references(join: Join) -> Iterator[ColumnReference]:
    """Yields the columns that the expressions of a join read: keys and predicates."""
    for each in fields(join):
        value = getattr(join, each.name)
        if each.name == "keys":
            for key in value:
                yield from (*key.left.columns, *key.right.columns)
        elif isinstance(value, Expression):
            yield from value.columns
