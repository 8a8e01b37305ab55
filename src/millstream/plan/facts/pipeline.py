"""What must be true of a plan, and what follows from it: how long rows are held, where they go,
which engine runs them, and how far the result's watermark lags. `explain` prints these facts."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.facts.engine import choose_engine
from millstream.plan.facts.operator import derive_operator_facts
from millstream.plan.facts.table_join import TableFacts, derive_table_facts
from millstream.plan.kinds.base import OperatorFacts
from millstream.plan.kinds.distribution import Strategy
from millstream.plan.nodes import Engine, Job, Pipeline, Select, Source, TableJoin
from millstream.plan.nodes.traversal import nodes_in_order

__all__ = ["PipelineFacts", "derive_job_facts", "derive_pipeline_facts", "choose_engine"]


@dataclass(frozen=True, slots=True)
class PipelineFacts:
    """A pipeline, its engine, and the facts of its operators and of its joins with tables, from
    the sources' side to the sink."""

    pipeline: Pipeline
    engine: Engine
    reason: str
    operators: tuple[OperatorFacts, ...]
    tables: tuple[TableFacts, ...] = ()
    strategies: tuple[Strategy, ...] = (Strategy("passthrough"),)

    @property
    def strategy(self) -> Strategy:
        """How rows are spread first; see `strategies` for all of them."""
        return self.strategies[0]


def derive_job_facts(job: Job) -> tuple[PipelineFacts, ...]:
    """The facts of every pipeline; a plan that no engine can run is refused."""
    return tuple(derive_pipeline_facts(pipeline) for pipeline in job.pipelines)


def derive_pipeline_facts(pipeline: Pipeline) -> PipelineFacts:
    engine, reason = choose_engine(pipeline)
    operators: list[OperatorFacts] = []
    tables: list[TableFacts] = []
    strategies = []
    for node in nodes_in_order(pipeline.root):
        if isinstance(node, TableJoin):
            tables.append(derive_table_facts(node))
            strategies.append(tables[-1].strategy)
        elif not isinstance(node, Source | Select):
            operators.append(derive_operator_facts(node))
            strategies.append(operators[-1].strategy)
    found = tuple(strategies) or (Strategy("passthrough"),)
    return PipelineFacts(pipeline, engine, reason, tuple(operators), tuple(tables), found)
