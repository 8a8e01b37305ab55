"""The joins of a FROM clause, one over the other: the result of those so far is the left side of
the next. A Select between gives each column that is read above a name of its own.

What is read above is known only when the whole query is planned. So names are given on demand, and
the Select is made at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from millstream.plan.build.joins.event_times import WINDOW, Times
from millstream.plan.expressions import Expression, all_of, column
from millstream.plan.facts.watermark_delay import lag_of
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
from millstream.plan.nodes.traversal import retracts
from millstream.plan.resolve.scope import Reference, Scope
from millstream.plan.resolve.select_list import Item
from millstream.plan.resolve.system_columns import with_hidden
from millstream.temporal import LateAction

Reads = frozenset[tuple[int, str]]
Origin = tuple[int, str]  # the number of a relation, and its column
OF_WINDOW: tuple[Origin, Origin] = (WINDOW, WINDOW_START), (WINDOW, WINDOW_END)


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """A join, the scope its users see, and what is left of WHERE to filter its output with."""

    join: Join | TableJoin
    scope: Scope
    where: tuple[Expression, ...]
    reads: Reads
    times: Times
    order: tuple[int, ...]  # of the times, by which the result rather goes
    keys: tuple[Key | TableKey, ...] = ()  # without that of a window
    key_reads: Reads = frozenset()
    below: Lifted | None = None  # the left side, if it is the result of other joins
    made: tuple[str, ...] = ()  # columns that a late row did not come with
    windows: tuple[Origin, Origin] = OF_WINDOW  # what carries the start and end of a window

    @property
    def takes_back(self) -> bool:
        """May rows of the result be taken back? A join with a table passes on what comes in."""
        if not isinstance(self.join, TableJoin):
            return self.join.retracts
        return self.below.planned.takes_back if self.below else retracts(self.join.left.node)

    def go_by(self, number: int) -> None:
        """Users of the result go by that time; a join with a table hands it on."""
        if isinstance(self.join, TableJoin) and self.below is not None:
            self.below.go_by(number)

    def used_by(self, reads: Collection[tuple[int, str]]) -> Join | TableJoin:
        """The join, its inputs knowing which of their columns are read by it and its users."""
        used = [{name for index, name in {*reads, *self.reads} if index == side} for side in (0, 1)]
        if isinstance(self.join, TableJoin):
            columns = (each.name for each in self.join.table.columns)
            return replace(
                self.join,
                left=self._passing(self.join.left, used[0]),
                used=tuple(name for name in columns if name in used[1]),
            )
        every = self.join.late.action is LateAction.SIDE_OUTPUT
        sides = []
        for number, side in enumerate((self.join.left, self.join.right)):
            made = self.below.select() if number == 0 and self.below is not None else side.node
            node = with_hidden(made, {*used[number], side.time, side.progress})
            names = tuple(
                each.name
                for each in node.columns
                if each.name in used[number] or (every and each.name not in self.made)
            )
            lag = 0 if side.time is None else lag_of(node)
            sides.append(replace(side, node=node, used=names, delay=lag))
        return replace(self.join, left=sides[0], right=sides[1])

    def _passing(self, side: Input, used: Collection[str]) -> Input:
        """The stream that a join with a table is a step of, with the event time that it carries."""
        made = side.node if self.below is None else self.below.select()
        node = with_hidden(made, used)
        names = tuple(each.name for each in node.columns if each.name in used)
        lag = 0 if node.time is None else lag_of(node)
        return replace(side, node=node, time=node.time, used=names, delay=lag)

    def time(self, number: int) -> Reference:
        """The event time of one relation, or of the window."""
        if number == WINDOW:
            found = self.scope.shared(WINDOW_TIME)
            assert found is not None
            return found
        return self.scope.refer(number, Column(self.times.columns[number], "TIMESTAMP"))

    @property
    def result_times(self) -> list[int]:
        """Times that no row of the result lacks, the one it rather goes by first."""
        return [number for number in self.order if number in self.times.whole]

    def carried(self, items: list[Item]) -> str | None:
        """The output that carries an event time which no row of the result lacks."""
        for number in self.result_times:
            wanted = (number, self.times.columns[number])
            for item in items:
                if item.bare and item.bare.origin == wanted:
                    self.go_by(number)
                    return item.output.name
        return None

    def window(self, items: list[Item]) -> tuple[str, str] | None:
        """The outputs that carry the window of a row, if both are there."""
        found = [
            next((i.output.name for i in items if i.bare and i.bare.origin == origin), None)
            for origin in self.windows
        ]
        return (found[0], found[1]) if found[0] and found[1] else None

    def window_columns(self) -> list[Reference]:
        """The start and the end of a row's window."""
        found = []
        for number, name in self.windows:
            shared = self.scope.shared(name) if number == WINDOW else None
            found.append(shared or self.scope.refer(number, Column(name, "TIMESTAMP")))
        return found


@dataclass(slots=True)
class Lifted:
    """The result of joins as a stream. `time` is the name of the column that its users go by."""

    planned: PlannedJoin
    alias: str
    time: str | None = None
    wrap: Callable[[Select], Select] | None = None  # what stands above it, such as windows
    items: dict[Expression, Item] = field(default_factory=dict)  # by the column below

    def name(self, reference: Reference) -> str:
        """The name under which a column of the joins comes out."""
        if reference.expression not in self.items:
            taken = {item.output.name for item in self.items.values()}
            name = new_name(reference, taken, self.planned.scope)
            output = Output(reference.expression, name)
            item = Item(output, frozenset(reference.reads), reference, None)
            self.items[reference.expression] = item
        return self.items[reference.expression].output.name

    def go_by(self, number: int) -> str:
        """From now on the stream goes by that time; the name of its column."""
        self.time = self.name(self.planned.time(number))
        self.planned.go_by(number)
        return self.time

    def go_by_shared(self, name: str) -> str:
        """The same, by a column that the joins below share."""
        found = self.shared(name)
        self.time = self.name(found)
        below = self.planned.below
        if isinstance(self.planned.join, TableJoin) and below is not None:
            below.go_by_shared(name)
        return self.time

    def shared(self, name: str) -> Reference:
        found = self.planned.scope.shared(name)
        assert found is not None, f"the joins below share no {name}"
        return found

    def lifted(self, reference: Reference) -> Reference:
        name = self.name(reference)
        kept = Column(name, reference.column.type)
        expression = column(self.alias, name, kept.type)
        return replace(reference, expression=expression, reads=((0, name),), column=kept)

    def select(self) -> Select:
        reads = {read for item in self.items.values() for read in item.reads}
        select = Select(
            input=self.planned.used_by(reads),
            outputs=tuple(item.output for item in self.items.values()),
            where=all_of(self.planned.where),
            time=self.time,
            place=self.planned.join.place,
        )
        return self.wrap(select) if self.wrap else select


def new_name(reference: Reference, taken: Collection[str], scope: Scope) -> str:
    """The column's own name or, if that is taken, one with its relation's alias before it."""
    lower = {name.lower() for name in taken}
    name = reference.column.name
    if name.lower() in lower and reference.origin and reference.origin[0] >= 0:
        name = f"{scope.relations[reference.origin[0]].alias}_{name}"
    while name.lower() in lower:
        name += "_"
    return name
