"""Groups the pipelines of a job into streaming queries.

Pipelines that read the same CREATE STREAM, directly or through other streams, and pipelines that
write to the same sink run as one query. They process the same micro-batches, so a row that is late
for a shared operator is late for all of them. On the native engine a query has one operator;
pipelines that share a stream but no operator run there as separate queries.

An aggregate or join over a stream of windowed results reads the window's time, which the operator
of the stream then outputs, too (`OperatorKind.with_window_time`). A pipeline that reads the stream
without the window's time gets the same operator, so that the query computes it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millstream.errors import PlanError
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.plan.expressions.shapes import source_sql
from millstream.plan.expressions.sql_types import sql_type
from millstream.plan.facts.engine import choose_engine
from millstream.plan.facts.output_groups import (
    computed_named_streams,
    named_streams,
    output_groups_of,
)
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Engine, Job, Operator, Pipeline, Query, Select
from millstream.plan.nodes.traversal import operators_of, upstream_of, with_operators


def group_into_queries(job: Job) -> tuple[Query, ...]:
    """Returns the queries of a job, in the order of their first outputs."""
    groups: list[list[Pipeline]] = []
    for pipeline in job.pipelines:
        joined = [group for group in groups if any(_share_query(each, pipeline) for each in group)]
        merged = [each for group in joined for each in group] + [pipeline]
        groups = [group for group in groups if group not in joined]
        groups.append(merged)
    order = {id(pipeline): number for number, pipeline in enumerate(job.pipelines)}
    for group in groups:
        group.sort(key=lambda each: order[id(each)])
    groups.sort(key=lambda group: order[id(group[0])])
    queries = tuple(Query(tuple(group)) for group in groups)
    for query in queries:
        _check(query)
    return queries


def choose_query_engine(query: Query) -> tuple[Engine, str]:
    """Returns the engine that runs a query, and the reason; outputs without state run on either."""
    with_state = [each for each in query.outputs if operators_of(each.root)]
    return choose_engine((with_state or query.outputs)[0])


def _share_query(one: Pipeline, other: Pipeline) -> bool:
    if one.sink.name == other.sink.name:
        return True
    if named_streams(one.root).isdisjoint(named_streams(other.root)):
        return False
    with_state = [each for each in (one, other) if operators_of(each.root)]
    if all(choose_engine(each)[0] is Engine.COLUMNAR for each in with_state):
        return True
    # A query on the native engine has one operator.
    engines = {choose_engine(each)[0] for each in (one, other)}
    return engines == {Engine.NATIVE} and upstream_of(one.root) == upstream_of(other.root)


def _check(query: Query) -> None:
    first = {output.sink.name: output for output in reversed(query.outputs)}
    for output in query.outputs:
        _check_columns(first[output.sink.name], output)
    _check_error_policies(query)
    _check_determinism(query)
    with_state = [each for each in query.outputs if operators_of(each.root)]
    engines = {choose_engine(each)[0] for each in with_state}
    if len(engines) > 1:
        raise PlanError(
            "MS-PLAN-SHARED-SINK",
            f"the statements that write to {query.title} run as one Spark query, and one of them "
            "runs on the native engine, another on the columnar engine.",
            fix="Set the same 'engine' for all of them, or give each statement a sink of its own.",
            place=with_state[-1].root.place,
        )
    operators = {upstream_of(each.root) for each in with_state}
    if Engine.NATIVE in engines and (len(operators) > 1 or len(with_state) < len(query.outputs)):
        raise PlanError(
            "MS-PLAN-SHARED-SINK",
            f"the statements that write to {query.title} run as one Spark query, and the native "
            "engine runs such a query only if all of them read the same operator.",
            fix="Give each statement a sink of its own, or use 'engine' = 'columnar'.",
            place=with_state[0].root.place,
        )


def _check_error_policies(query: Query) -> None:
    """Rejects outputs of one query that treat a failed expression differently."""
    for output in query.outputs:
        if output.errors != query.errors:
            raise PlanError(
                "MS-PLAN-ON-ERROR",
                f"the statements that write to {query.title} run as one Spark query, and they have "
                "different values of 'on.error' or 'dead_letter.sink'.",
                fix="Set the same values for all of them, or 'on.error' once with SET.",
                place=output.root.place,
            )


def _check_determinism(query: Query) -> None:
    """Rejects a non-deterministic stream that several output groups compute."""
    computed: set[Select] = set()
    for group in output_groups_of(query):
        for stream in computed_named_streams(group):
            part = _random_part(stream)
            if part is not None and stream in computed:
                raise PlanError(
                    "MS-PLAN-NONDETERMINISTIC",
                    f"{part} in the stream {stream.stream} would have different values in each of "
                    "the "
                    f"sinks {query.title}, because some of them aggregate or join the stream.",
                    fix="Compute it in the query of a sink, or write the stream to a sink and read "
                    "it in another job.",
                    place=stream.place,
                )
        computed |= computed_named_streams(group)


def _random_part(stream: Select) -> str | None:
    read = [output.expression for output in stream.outputs]
    for expression in (*read, *((stream.where,) if stream.where is not None else ())):
        for part in nondeterministic_parts(expression.tree, clock=False):
            return source_sql(part, expression)
    return None


def _check_columns(one: Pipeline, other: Pipeline) -> None:
    """Rejects pipelines that write different columns or output modes to one sink."""
    names, others = ([column.name for column in each.root.columns] for each in (one, other))
    if names != others:
        raise PlanError(
            "MS-PLAN-SHARED-SINK",
            f"two statements write to the sink {one.sink.name}: one selects {', '.join(names)}, "
            f"the other {', '.join(others)}.",
            fix="Select the same columns in the same order, or give each statement its own sink.",
            place=other.root.place,
        )
    for first, second in zip(one.root.columns, other.root.columns, strict=True):
        kind, other_kind = sql_type(first.type), sql_type(second.type)
        if kind and other_kind and kind.family is not other_kind.family:
            raise PlanError(
                "MS-PLAN-SHARED-SINK",
                f"two statements write to the sink {one.sink.name}: {first.name} is "
                f"{first.type} in one, and {second.type} in the other.",
                fix=f"Write CAST(… AS {first.type}) AS {second.name} in the second statement.",
                place=other.root.place,
            )
    if one.mode is not other.mode:
        raise PlanError(
            "MS-PLAN-SHARED-SINK",
            f"two statements write to the sink {one.sink.name}, one with 'output.mode' = "
            f"'{one.mode}', the other with '{other.mode}'.",
            fix="Set the same 'output.mode' in both, or give each statement its own sink.",
            place=other.root.place,
        )


def share_window_times(pipelines: Sequence[Pipeline]) -> list[Pipeline]:
    """Adds the window's time to operators for which another pipeline of the stream needs it."""
    found = []
    for pipeline in pipelines:
        streams = named_streams(pipeline.root)
        elsewhere = {
            operator
            for other in pipelines
            if other is not pipeline and not streams.isdisjoint(named_streams(other.root))
            for operator in operators_of(other.root)
        }
        replaced = {
            operator: timed
            for operator in operators_of(pipeline.root)
            if (timed := _with_window_time(operator)) != operator and timed in elsewhere
        }
        root = with_operators(pipeline.root, replaced) if replaced else pipeline.root
        found.append(replace(pipeline, root=root))
    return found


def _with_window_time(operator: Operator) -> Operator:
    kind = kind_of(operator)
    return kind.with_window_time(operator)[0] if kind.has_window_time(operator) else operator
