"""Derives the facts of a pipeline: engine, distribution of rows, state and output.

`explain` prints these facts. A plan that no engine can run is rejected here.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.document.formats import join_key
from millstream.plan.expressions.spark_sql import sql_list
from millstream.plan.facts.colocation import find_shared_shuffle
from millstream.plan.facts.engine import choose_engine
from millstream.plan.facts.table_join import TableFacts, derive_table_facts
from millstream.plan.kinds import kind_of, single_input_kind_of
from millstream.plan.kinds.base import OperatorFacts, Strategy
from millstream.plan.nodes import Engine, Job, Join, Operator, Pipeline, TableJoin
from millstream.plan.nodes.traversal import Stateless, inputs_of, nodes_in_order, operators_of

__all__ = ["PipelineFacts", "choose_engine", "derive_job_facts", "derive_pipeline_facts"]


@dataclass(frozen=True, slots=True)
class PipelineFacts:
    """A pipeline, its engine, and the facts of its operators and table joins, sources first."""

    pipeline: Pipeline
    engine: Engine
    reason: str
    operators: tuple[OperatorFacts, ...]
    tables: tuple[TableFacts, ...] = ()
    strategies: tuple[Strategy, ...] = (Strategy("passthrough"),)

    @property
    def strategy(self) -> Strategy:
        """The first distribution of rows; `strategies` has all of them."""
        return self.strategies[0]


def derive_job_facts(job: Job) -> tuple[PipelineFacts, ...]:
    """Returns the facts of every pipeline. Rejects a plan that no engine can run."""
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
        elif not isinstance(node, Stateless):
            operators.append(derive_operator_facts(node))
            strategies.append(operators[-1].strategy)
    found = tuple(strategies) or (Strategy("passthrough"),)
    return PipelineFacts(pipeline, engine, reason, tuple(operators), tuple(tables), found)


def derive_operator_facts(operator: Operator) -> OperatorFacts:
    found = kind_of(operator).state(operator)
    strategy = choose_strategy(operator)
    return OperatorFacts(operator, strategy, found.expiry, found.state_size, found.emits)


def choose_strategy(operator: Operator) -> Strategy:
    """Returns how the rows of an operator are distributed over the tasks."""
    if isinstance(operator, Join):
        key = join_key(operator)
    else:
        kind = single_input_kind_of(operator)
        key = sql_list(kind.keys(operator))
        if not key:
            return Strategy(kind.unkeyed)
    sides = inputs_of(operator)
    if find_shared_shuffle(operator):
        return Strategy("shared", key, len(sides))
    of_sources = not any(operators_of(side.node) for side in sides)
    return Strategy("hash" if of_sources else "repartition", key, len(sides))
