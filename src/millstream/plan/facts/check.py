"""What must be true of a plan, and what follows from it: how long rows are held, where they go,
which engine runs them, and how far the result's watermark lags. `explain` prints these facts."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.facts.engines import choose_engine
from millstream.plan.facts.holds import HoldFacts, hold_of
from millstream.plan.facts.joins import (
    JoinFacts,
    SideFacts,
    Strategy,
    join_facts,
    moved,
    name_of,
    needed_retention,
)
from millstream.plan.facts.operators import Facts, OperatorFacts, facts_of
from millstream.plan.nodes import Engine, Job, Pipeline
from millstream.plan.walk import operators_in_order

__all__ = [
    "Facts",
    "HoldFacts",
    "JoinFacts",
    "OperatorFacts",
    "PipelineFacts",
    "SideFacts",
    "Strategy",
    "check_job",
    "check_pipeline",
    "choose_engine",
    "facts_of",
    "hold_of",
    "join_facts",
    "moved",
    "name_of",
    "needed_retention",
]


@dataclass(frozen=True, slots=True)
class PipelineFacts:
    """A pipeline, its engine, and the facts of its operators from the sources' side to the sink."""

    pipeline: Pipeline
    engine: Engine
    reason: str
    operators: tuple[Facts, ...]

    @property
    def strategy(self) -> Strategy:
        """How rows are spread first; see `strategies` for all of them."""
        return self.strategies[0]

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        return tuple(facts.strategy for facts in self.operators) or (Strategy("passthrough"),)

    @property
    def join(self) -> JoinFacts | None:
        return next((facts for facts in self.operators if isinstance(facts, JoinFacts)), None)


def check_job(job: Job) -> tuple[PipelineFacts, ...]:
    """The facts of every pipeline; a plan that no engine can run is refused."""
    return tuple(check_pipeline(pipeline) for pipeline in job.pipelines)


def check_pipeline(pipeline: Pipeline) -> PipelineFacts:
    engine, reason = choose_engine(pipeline)
    facts = tuple(facts_of(operator) for operator in operators_in_order(pipeline.root))
    return PipelineFacts(pipeline, engine, reason, facts)
