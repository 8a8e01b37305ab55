"""The left side of a join: the first stream of FROM, or the result of the joins before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.chain import (
    WINDOW_COLUMNS,
    ChainScope,
    JoinResult,
    Origin,
    PlannedJoin,
)
from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.nodes import Column, Join, Select, Source, TableJoin
from millstream.plan.nodes.traversal import can_retract
from millstream.plan.resolve.event_time import (
    BOUNDED_JOIN,
    missing_time_reason,
    reject_retractions,
    require_event_time,
    retraction_fix,
)
from millstream.plan.resolve.scope import Relation, ResolvedName, Scope, SharedColumn
from millstream.sql.text import SourceText
from millstream.temporal import Window
from millstream.values import JoinType

_LEFT_OR_RIGHT = "Join with LEFT or RIGHT"


@dataclass(frozen=True, slots=True)
class LeftInput:
    """`number` of relations are on it; a join's right side is the relation of that number."""

    relations: tuple[Relation, ...]
    times: EventTimes
    text: SourceText
    join_result: JoinResult | None = None
    window: Window | None = None  # that its rows are in

    @property
    def right_number(self) -> int:
        return len(self.relations)

    @property
    def name(self) -> str:
        return ", ".join(relation.name for relation in self.relations)

    @property
    def alias(self) -> str:
        return self.join_result.alias if self.join_result else self.relations[0].alias

    @property
    def node(self) -> Source | Select:
        """The stream; over other joins, what stands for it until their Select is made."""
        return Source(self.alias, ()) if self.join_result else self.relations[0].node

    def scope(
        self, right: Relation | None, merged: Mapping[str, SharedColumn] | None = None
    ) -> Scope:
        """Names over this side and, if there is one, the other."""
        relations = self.relations if right is None else (*self.relations, right)
        if self.join_result is None:
            return Scope(relations, self.text, merged or {})
        return ChainScope(relations, self.text, merged or {}, left=self.join_result)

    def time(self, number: int) -> ResolvedName:
        """An event time of this side, as a join over it reads it."""
        if self.join_result is None:
            return self.scope(None).refer(number, Column(self.times.columns[number], "TIMESTAMP"))
        return self.join_result.output_reference(self.join_result.planned.time(number))

    def use_time(self, number: int) -> str:
        """The name of the column that carries a time; from now on the stream goes by it."""
        return self.join_result.use_time(number) if self.join_result else self.times.columns[number]

    def time_text(self, number: int) -> str:
        """An event time as the user writes it."""
        if number < 0:
            return self.times.columns[number]
        return self.relations[number].display_sql(self.times.columns[number])

    @property
    def retracts(self) -> bool:
        """May its rows be taken back?"""
        return (
            self.join_result.planned.retracts
            if self.join_result
            else can_retract(self.relations[0].node)
        )

    @property
    def windows(self) -> tuple[Origin, Origin]:
        """What carries the window that its rows come with, if they come with one."""
        if self.join_result is not None:
            return self.join_result.planned.windows
        node = self.relations[0].node
        given = node.window if isinstance(node, Select) else None
        return ((0, given[0]), (0, given[1])) if given else WINDOW_COLUMNS

    def require_event_time(self, place: Place | None) -> None:
        """Refuse what no join that goes by event time can follow."""
        first = self.relations[0]
        if self.join_result is None:
            reject_retractions(first.node, first.name, BOUNDED_JOIN, first.place or place)
        elif self.retracts:
            raise PlanError(
                "MS-PLAN-RETRACT",
                f"the join of {self.name} takes rows back, and the next join cannot follow that.",
                fix="Give it a time bound, or let it come last; a join without a bound, with "
                "'state.ttl', can follow, too.",
                place=place,
            )
        if not self.times.non_null:
            raise self._missing_time_error(place)

    def _missing_time_error(self, place: Place | None) -> PlanError:
        """Why there is no event time that a join could go by."""
        below = self._below()
        if below is None:
            first = self.relations[0]
            require_event_time(first.name, first.node, first.time, first.place or place)  # refuses
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
        below = self.join_result.planned if self.join_result else None
        while below is not None and isinstance(below.join, TableJoin):
            below = below.below.planned if below.below else None
        return None if below is None or isinstance(below.join, TableJoin) else below.join

    def explain_missing_time(self) -> tuple[str, str]:
        """Why the result of joins has no event time that 'state.ttl' could go by, and the way
        out."""
        below, first = self._below(), self.relations[0]
        if below is None:  # joins with tables, which take nothing away
            return missing_time_reason(first.name, first.node) or (
                f"{first.name} has no event time",
                f"Declare a watermark in the source and select its column in {first.name}",
            )
        if self.retracts:
            fix = "Give that join a time bound"
            return f"the join of {self.name} takes rows back, so its rows have no event time", fix
        if below.how is JoinType.FULL:
            return "a FULL JOIN pads either side, so its rows have no event time", _LEFT_OR_RIGHT
        return f"the join of {self.name} gives rows no event time", "Give that join a time bound"

    def append_only_fix(self) -> str:
        """What to write so that none of its rows is taken back."""
        if self.join_result is None or self._below() is None:
            return retraction_fix(self.relations[0].node, self.relations[0].name)
        return f"Give the join of {self.name} a time bound"


def left_from_stream(relation: Relation, text: SourceText) -> LeftInput:
    times = EventTimes() if relation.time is None else EventTimes().with_time(0, relation.time, {})
    return LeftInput((relation,), times, text)


def left_from_join(
    planned: PlannedJoin, aliases: set[str], text: SourceText, window: Window | None = None
) -> LeftInput:
    """The result of joins; its alias is made of those of its streams."""
    relations = planned.scope.relations
    alias = "_".join(relation.alias for relation in relations)
    if len(relations) == 1:  # the other side only decides
        alias += "_joined"
    while alias.lower() in aliases:
        alias += "_"
    return LeftInput(relations, planned.times, text, JoinResult(planned, alias), window)
