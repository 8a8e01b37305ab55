"""The left side of a join: the first stream of FROM, or the result of the joins before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.errors import Place, PlanError
from millstream.plan.joins.chain import ChainScope, Lifted, PlannedJoin
from millstream.plan.joins.gaps import Times
from millstream.plan.names.scope import Merged, Reference, Relation, Scope
from millstream.plan.names.times import needs_time, refuse_changes
from millstream.plan.nodes import Column, Select, Source
from millstream.sql.text import SourceText
from millstream.temporal import Window


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
        found = self.time(number)
        if self.lifted is not None:
            self.lifted.time = found.column.name
        return found.column.name

    def time_text(self, number: int) -> str:
        """An event time as the user writes it."""
        if number < 0:
            return self.times.columns[number]
        return self.relations[number].text(self.times.columns[number])

    def refuse_without_time(self, place: Place | None) -> None:
        if not self.times.whole:
            raise PlanError(
                "MS-PLAN-NO-WATERMARK",
                "a FULL JOIN pads either side, so its rows have no event time that the next join "
                "could go by.",
                fix="Join with LEFT or RIGHT, or let the FULL JOIN come last.",
                place=place,
            )


def first_of(relation: Relation, place: Place | None, text: SourceText) -> Left:
    refuse_changes(relation.node, relation.name, "a join", relation.place or place)
    time = needs_time(relation.name, relation.node, relation.time, relation.place or place)
    return Left((relation,), Times().plus(0, time, {}), text)


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
