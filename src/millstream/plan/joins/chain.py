"""The joins of a FROM clause, one over the other: the result of those so far is the left side of
the next. A Select between gives each column that is read above a name of its own.

What is read above is known only when the whole query is planned. So names are given on demand, and
the Select is made at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from millstream.plan.facts.holds import lag_of
from millstream.plan.joins.gaps import WINDOW, Times
from millstream.plan.names.expressions import all_of
from millstream.plan.names.names import quote
from millstream.plan.names.outputs import Item
from millstream.plan.names.scope import Reference, Scope
from millstream.plan.names.system import with_hidden
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Column,
    IntervalJoin,
    Key,
    Output,
    Select,
    TemporalJoin,
)
from millstream.temporal import LateAction

Join = IntervalJoin | TemporalJoin
Reads = frozenset[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """A join, the scope its users see, and what is left of WHERE to filter its output with."""

    join: Join
    scope: Scope
    where: tuple[str, ...]
    reads: Reads
    times: Times
    order: tuple[int, ...]  # of the times, by which the result rather goes
    keys: tuple[Key, ...] = ()  # without that of a window
    key_reads: Reads = frozenset()
    below: Lifted | None = None  # the left side, if it is the result of other joins
    made: tuple[str, ...] = ()  # columns that a late row did not come with

    def used_by(self, reads: Collection[tuple[int, str]]) -> Join:
        """The join, its inputs knowing which of their columns are read by it and its users."""
        every = self.join.late.action is LateAction.SIDE_OUTPUT
        sides = []
        for number, side in enumerate((self.join.left, self.join.right)):
            used = {name for index, name in {*reads, *self.reads} if index == number}
            made = self.below.select() if number == 0 and self.below is not None else side.node
            node = with_hidden(made, {*used, side.time, side.progress})
            names = tuple(
                column.name
                for column in node.columns
                if column.name in used or (every and column.name not in self.made)
            )
            sides.append(replace(side, node=node, used=names, delay=lag_of(node)))
        return replace(self.join, left=sides[0], right=sides[1])

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
                    return item.output.name
        return None

    def window(self, items: list[Item]) -> tuple[str, str] | None:
        """The outputs that carry the window of a window join, if both are there."""
        found = [
            next((i.output.name for i in items if i.bare and i.bare.origin == (WINDOW, name)), None)
            for name in (WINDOW_START, WINDOW_END)
        ]
        return (found[0], found[1]) if found[0] and found[1] else None


@dataclass(slots=True)
class Lifted:
    """The result of joins as a stream. `time` is the name of the column that its users go by."""

    planned: PlannedJoin
    alias: str
    time: str | None = None
    wrap: Callable[[Select], Select] | None = None  # what stands above it, such as windows
    items: dict[str, Item] = field(default_factory=dict)  # by the text below

    def name(self, reference: Reference) -> str:
        """The name under which a column of the joins comes out."""
        if reference.text not in self.items:
            taken = {item.output.name for item in self.items.values()}
            name = new_name(reference, taken, self.planned.scope)
            output = Output(reference.text, name, reference.column.type)
            item = Item(output, frozenset(reference.reads), reference, None)
            self.items[reference.text] = item
        return self.items[reference.text].output.name

    def lifted(self, reference: Reference) -> Reference:
        name = self.name(reference)
        text = f"{quote(self.alias)}.{quote(name)}"
        column = Column(name, reference.column.type)
        return replace(reference, text=text, reads=((0, name),), column=column)

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


@dataclass(frozen=True, slots=True)
class ChainScope(Scope):
    """Names over a join whose left side is the result of others."""

    left: Lifted | None = None

    @property
    def _left(self) -> Lifted:
        assert self.left is not None
        return self.left

    @property
    def called(self) -> tuple[str, ...]:
        return (*(relation.alias for relation in self.relations), self._left.alias)

    def refer(self, number: int, column: Column) -> Reference:
        below = self._left.planned.scope
        if number < len(below.relations):
            # The name that `*` and users see is the relation's own.
            lifted = self._left.lifted(below.refer(number, column))
            return replace(lifted, column=Column(column.name, lifted.column.type))
        text = self.relations[number].text(column.name)
        return Reference(text, 0, 0, ((1, column.name),), column, False, (number, column.name))

    def shared(self, name: str) -> Reference | None:
        own = Scope.shared(self, name)
        if own is not None:
            return own
        below = self._left.planned.scope.shared(name)
        if below is None:
            return None
        return replace(self._left.lifted(below), column=below.column)

    def shared_names(self, *, last: bool) -> tuple[str, ...]:
        own = Scope.shared_names(self, last=last)
        below = self._left.planned.scope.shared_names(last=last)
        return (*(name for name in below if name not in self.merged), *own)


def new_name(reference: Reference, taken: Collection[str], scope: Scope) -> str:
    """The column's own name or, if that is taken, one with its relation's alias before it."""
    lower = {name.lower() for name in taken}
    name = reference.column.name
    if name.lower() in lower and reference.origin and reference.origin[0] >= 0:
        name = f"{scope.relations[reference.origin[0]].alias}_{name}"
    while name.lower() in lower:
        name += "_"
    return name
