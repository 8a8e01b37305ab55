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
    """The left side of a join; the right side is the relation with the number `right_number`."""

    relations: tuple[Relation, ...]
    times: EventTimes
    text: SourceText
    join_result: JoinResult | None = None
    window: Window | None = None  # the window of its rows

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
        """The stream; over other joins, a placeholder until their Select is built."""
        return Source(self.alias, ()) if self.join_result else self.relations[0].node

    def scope(
        self, right: Relation | None, merged: Mapping[str, SharedColumn] | None = None
    ) -> Scope:
        """Returns the scope over this side and, if given, the right side."""
        relations = self.relations if right is None else (*self.relations, right)
        if self.join_result is None:
            return Scope(relations, self.text, merged or {})
        return ChainScope(relations, self.text, merged or {}, left=self.join_result)

    def time(self, number: int) -> ResolvedName:
        """Returns an event time of this side as a join reads it."""
        if self.join_result is None:
            return self.scope(None).refer(number, Column(self.times.columns[number], "TIMESTAMP"))
        return self.join_result.output_reference(self.join_result.planned.time(number))

    def use_time(self, number: int) -> str:
        """Sets the event time of the stream and returns the name of its column."""
        return self.join_result.use_time(number) if self.join_result else self.times.columns[number]

    def time_text(self, number: int) -> str:
        """Returns an event time as the user writes it."""
        if number < 0:
            return self.times.columns[number]
        return self.relations[number].display_sql(self.times.columns[number])

    @property
    def retracts(self) -> bool:
        """Whether it can retract rows."""
        return (
            self.join_result.planned.retracts
            if self.join_result
            else can_retract(self.relations[0].node)
        )

    @property
    def windows(self) -> tuple[Origin, Origin]:
        """The columns with start and end of its rows' window, if they have one."""
        if self.join_result is not None:
            return self.join_result.planned.windows
        node = self.relations[0].node
        given = node.window if isinstance(node, Select) else None
        return ((0, given[0]), (0, given[1])) if given else WINDOW_COLUMNS

    def require_event_time(self, place: Place | None) -> None:
        """Rejects an input that retracts rows or has no event time."""
        first = self.relations[0]
        if self.join_result is None:
            reject_retractions(first.node, first.name, BOUNDED_JOIN, first.place or place)
        elif self.retracts:
            raise PlanError(
                "MS-PLAN-RETRACT",
                f"the join of {self.name} retracts rows, and the next join does not support "
                "retraction.",
                fix="Add a time bound to it, or move it to the end; a join without a bound, with "
                "'state.ttl', supports retraction.",
                place=place,
            )
        if not self.times.non_null:
            raise self._missing_time_error(place)

    def _missing_time_error(self, place: Place | None) -> PlanError:
        """Returns the error for a missing event time."""
        below = self._below()
        if below is None:
            first = self.relations[0]
            require_event_time(first.name, first.node, first.time, first.place or place)  # raises
        if below is not None and below.how is not JoinType.FULL:
            cause = "the previous join has no event time for the next join."
            fix = "Add a time bound to it, or move it to the end."
        else:
            cause = (
                "a FULL JOIN fills either side with NULL, so its rows have no event time for the "
                "next "
                "join."
            )
            fix = f"{_LEFT_OR_RIGHT}, or move the FULL JOIN to the end."
        return PlanError("MS-PLAN-NO-WATERMARK", cause, fix=fix, place=place)

    def _below(self) -> Join | None:
        """Returns its last join of streams."""
        below = self.join_result.planned if self.join_result else None
        while below is not None and isinstance(below.join, TableJoin):
            below = below.below.planned if below.below else None
        return None if below is None or isinstance(below.join, TableJoin) else below.join

    def explain_missing_time(self) -> tuple[str, str]:
        """Returns why the result of joins has no event time for 'state.ttl', and a fix."""
        below, first = self._below(), self.relations[0]
        if below is None:  # table joins, which keep the event time
            return missing_time_reason(first.name, first.node) or (
                f"{first.name} has no event time",
                f"Declare a watermark in the source and select its column in {first.name}",
            )
        if self.retracts:
            fix = "Add a time bound to that join"
            return f"the join of {self.name} retracts rows, so its rows have no event time", fix
        if below.how is JoinType.FULL:
            return (
                "a FULL JOIN fills either side with NULL, so its rows have no event time",
                _LEFT_OR_RIGHT,
            )
        return f"the join of {self.name} has no event time", "Add a time bound to that join"

    def append_only_fix(self) -> str:
        """Describes how to change the query so that it never retracts rows."""
        if self.join_result is None or self._below() is None:
            return retraction_fix(self.relations[0].node, self.relations[0].name)
        return f"Add a time bound to the join of {self.name}"


def left_from_stream(relation: Relation, text: SourceText) -> LeftInput:
    times = EventTimes() if relation.time is None else EventTimes().with_time(0, relation.time, {})
    return LeftInput((relation,), times, text)


def left_from_join(
    planned: PlannedJoin, aliases: set[str], text: SourceText, window: Window | None = None
) -> LeftInput:
    """Returns the result of joins; its alias combines the aliases of its streams."""
    relations = planned.scope.relations
    alias = "_".join(relation.alias for relation in relations)
    if len(relations) == 1:  # a semi or anti join
        alias += "_joined"
    while alias.lower() in aliases:
        alias += "_"
    return LeftInput(relations, planned.times, text, JoinResult(planned, alias), window)
