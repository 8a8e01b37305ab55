"""What a query asks of one of its joins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place
from millstream.plan.build.joins.conjuncts import conjuncts_of
from millstream.plan.build.joins.where import Step
from millstream.plan.build.policies import late_policy, limit_of
from millstream.plan.resolve.scope import Relation
from millstream.sql.statements import Property
from millstream.temporal import Emit, LatePolicy, StateLimit
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class JoinAsked:
    step: Step
    filters: list[exp.Expr]  # the terms of WHERE that are decided here
    properties: Mapping[str, Property]
    sinks: Collection[str]
    place: Place | None
    emit: Emit = Emit.FINAL  # of a join that can wait until its windows close
    alone: bool = True  # is it the only join of its query?
    below: str | None = None  # the query with its join in windows, if its own WINDOW is not for it

    @property
    def clause(self) -> exp.Join:
        return self.step.clause

    @property
    def right(self) -> Relation:
        return self.step.right

    @property
    def how(self) -> JoinType:
        return self.step.how

    @property
    def terms(self) -> list[exp.Expr]:
        """What decides matching: ON and, of an inner join, WHERE."""
        own = list(conjuncts_of(self.clause.args.get("on")))
        return own + (self.filters if self.step.inner else [])

    @property
    def late(self) -> LatePolicy:
        return late_policy(self.properties, self.sinks)

    @property
    def limit(self) -> StateLimit:
        return limit_of(self.properties)
