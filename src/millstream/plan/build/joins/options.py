"""The options of one join of a query."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place
from millstream.plan.build.joins.conjuncts import split_conjunction
from millstream.plan.build.joins.where import JoinStep
from millstream.plan.build.query_options import resolve_late_policy, resolve_state_limit
from millstream.plan.resolve.scope import Relation
from millstream.sql.statements import Property
from millstream.temporal import Emit, LatePolicy, StateLimit
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class JoinOptions:
    step: JoinStep
    filters: list[exp.Expr]  # the terms of WHERE that this join evaluates
    properties: Mapping[str, Property]
    sinks: Collection[str]
    place: Place | None
    emit: Emit = Emit.FINAL  # of a window join
    is_only_join: bool = True  # the query has no other join
    window_rewrite: str | None = (
        None  # the query with a window join, if its WINDOW is for an aggregate
    )

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
        """The terms that decide matching: ON and, for an inner join, WHERE."""
        own = list(split_conjunction(self.clause.args.get("on")))
        return own + (self.filters if self.step.inner else [])

    @property
    def late(self) -> LatePolicy:
        return resolve_late_policy(self.properties, self.sinks)

    @property
    def limit(self) -> StateLimit:
        return resolve_state_limit(self.properties)
