"""The left side of a join: the first stream of FROM, or the result of the joins before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.chain import OF_WINDOW, Lifted, Origin, PlannedJoin
from millstream.plan.build.joins.chain_scope import ChainScope
from millstream.plan.build.joins.event_times import Times
from millstream.plan.nodes import Column, Join, Select, Source, TableJoin
from millstream.plan.nodes.traversal import retracts
from millstream.plan.resolve.event_time import (
    A_BOUNDED_JOIN,
    needs_time,
    refuse_changes,
    staying,
    timeless,
)
from millstream.plan.resolve.scope import Merged, Reference, Relation, Scope
from millstream.sql.text import SourceText
from millstream.temporal import Window
from millstream.values import JoinType

_LEFT_OR_RIGHT = "Join with LEFT or RIGHT"


@dataclass(frozen=True, slots=True)
class Left:
    """`number` of relations are on it; a join's right side is the relation of that number."""

    relations: tuple[Relation, ...]
    times: Times
    text: SourceText
    lifted: Lifted | None = None
    window: Window | None = None  # that its rows are in

    @property
    def number(self) -> int:
        return len(self.relations)

    @property
    def name(self) -> str:
        return ", ".join(relation.name for relation in self.relations)

    @property
    def alias(self) -> str:
        return self.lifted.alias if self.lifted else self.relations[0].alias

    @property
    def node(self) -> Source | Select:
        """The stream; over other joins, what stands for it until their Select is made."""
        return Source(self.alias, ()) if self.lifted else self.relations[0].node

    def scope(self, right: Relation | None, merged: Mapping[str, Merged] | None = None) -> Scope:
        """Names over this side and, if there is one, the other."""
        relations = self.relations if right is None else (*self.relations, right)
        if self.lifted is None:
            return Scope(relations, self.text, merged or {})
        return ChainScope(relations, self.text, merged or {}, left=self.lifted)

    def time(self, number: int) -> Reference:
        """An event time of this side, as a join over it reads it."""
        if self.lifted is None:
            return self.scope(None).refer(number, Column(self.times.columns[number], "TIMESTAMP"))
        return self.lifted.lifted(self.lifted.planned.time(number))

    def go_by(self, number: int) -> str:
        """The name of the column that carries a time; from now on the stream goes by it."""
        return self.lifted.go_by(number) if self.lifted else self.times.columns[number]

    def time_text(self, number: int) -> str:
        """An event time as the user writes it."""
        if number < 0:
            return self.times.columns[number]
        return self.relations[number].shown(self.times.columns[number])

    @property
    def takes_back(self) -> bool:
        """May its rows be taken back?"""
        return self.lifted.planned.takes_back if self.lifted else retracts(self.relations[0].node)

    @property
    def windows(self) -> tuple[Origin, Origin]:
        """What carries the window that its rows come with, if they come with one."""
        if self.lifted is not None:
            return self.lifted.planned.windows
        node = self.relations[0].node
        given = node.window if isinstance(node, Select) else None
        return ((0, given[0]), (0, given[1])) if given else OF_WINDOW

    def ready(self, place: Place | None) -> None:
        """Refuse what no join that goes by event time can follow."""
        first = self.relations[0]
        if self.lifted is None:
            refuse_changes(first.node, first.name, A_BOUNDED_JOIN, first.place or place)
        elif self.takes_back:
            raise PlanError(
                "MS-PLAN-RETRACT",
                f"the join of {self.name} takes rows back, and the next join cannot follow that.",
                fix="Give it a time bound, or let it come last; a join without a bound, with "
                "'state.ttl', can follow, too.",
                place=place,
            )
        if not self.times.whole:
            raise self._timeless(place)

    def _timeless(self, place: Place | None) -> PlanError:
        """Why there is no event time that a join could go by."""
        below = self._below()
        if below is None:
            first = self.relations[0]
            needs_time(first.name, first.node, first.time, first.place or place)  # refuses
        if below is not None and below.how is not JoinType.FULL:
            cause = "the join before it has no event time that the next join could go by."
            fix = "Give it a time bound, or let it come last."
        else:
            cause = (
                "a FULL JOIN pads either side, so its rows have no event time that the next join "
                "could go by."
            )
            fix = f"{_LEFT_OR_RIGHT}, or let the FULL JOIN come last."
        return PlanError("MS-PLAN-NO-WATERMARK", cause, fix=fix, place=place)

    def _below(self) -> Join | None:
        """The last join of streams on it."""
        below = self.lifted.planned if self.lifted else None
        while below is not None and isinstance(below.join, TableJoin):
            below = below.below.planned if below.below else None
        return None if below is None or isinstance(below.join, TableJoin) else below.join

    def timeless(self) -> tuple[str, str]:
        """Why the result of joins has no event time that 'state.ttl' could go by, and the way
        out."""
        below, first = self._below(), self.relations[0]
        if below is None:  # joins with tables, which take nothing away
            return timeless(first.name, first.node) or (
                f"{first.name} has no event time",
                f"Declare a watermark in the source and select its column in {first.name}",
            )
        if self.takes_back:
            fix = "Give that join a time bound"
            return f"the join of {self.name} takes rows back, so its rows have no event time", fix
        if below.how is JoinType.FULL:
            return "a FULL JOIN pads either side, so its rows have no event time", _LEFT_OR_RIGHT
        return f"the join of {self.name} gives rows no event time", "Give that join a time bound"

    def staying(self) -> str:
        """What to write so that none of its rows is taken back."""
        if self.lifted is None or self._below() is None:
            return staying(self.relations[0].node, self.relations[0].name)
        return f"Give the join of {self.name} a time bound"


def first_of(relation: Relation, text: SourceText) -> Left:
    times = Times() if relation.time is None else Times().plus(0, relation.time, {})
    return Left((relation,), times, text)


def result_of(
    planned: PlannedJoin, aliases: set[str], text: SourceText, window: Window | None = None
) -> Left:
    """The result of joins; its alias is made of those of its streams."""
    relations = planned.scope.relations
    alias = "_".join(relation.alias for relation in relations)
    if len(relations) == 1:  # the other side only decides
        alias += "_joined"
    while alias.lower() in aliases:
        alias += "_"
    return Left(relations, planned.times, text, Lifted(planned, alias), window)
