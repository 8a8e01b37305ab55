"""Builds plans from SQL: `build_job` from a job's statements, `build_query` from one SELECT,
`plan_select` and `plan_view` for the Python API."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from millstream.errors import PlanError, SqlError
from millstream.plan.build.declarations import build_sink_definition
from millstream.plan.build.emit import resolve_output_mode
from millstream.plan.build.error_policy import FAIL, resolve_error_policy
from millstream.plan.build.joins.salt import reject_excess_salt
from millstream.plan.build.namespace import JobNamespace
from millstream.plan.build.query import PlannedQuery, select_of_inner_query
from millstream.plan.build.query_groups import group_into_queries, share_window_times
from millstream.plan.build.source_columns import without_unread_columns
from millstream.plan.build.tables.datasets import DatasetResolver, reads_dataset
from millstream.plan.build.top_n import reject_unlimited_rankings
from millstream.plan.build.union_branches import branch_pipelines, with_union_branches
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.facts.determinism import reject_nondeterministic
from millstream.plan.facts.pipeline import choose_engine
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Engine, Job, Pipeline, ReferenceTable, Select, SinkDef, Source
from millstream.plan.resolve.name_checks import check_object_name, reject_reserved_names
from millstream.plan.resolve.names import literal, quote
from millstream.sql.limits import deep_recursion
from millstream.sql.masking import mask_secrets
from millstream.sql.parse import parse
from millstream.sql.properties import PropertyOwner, check_properties
from millstream.sql.spans import span_of
from millstream.sql.statements import (
    CreateSink,
    CreateTable,
    InsertInto,
    Query,
    SelectStatement,
    SetProperty,
    Statement,
)
from millstream.sql.text import mask_variables
from millstream.suggestions import same
from millstream.temporal import ErrorAction, ErrorPolicy, OutputMode


def build_job(
    text: str,
    *,
    variables: Mapping[str, str] | None = None,
    sources: Mapping[str, Source] | None = None,
    tables: Mapping[str, ReferenceTable] | None = None,
    connectors: ConnectorRegistry | None = None,
    datasets: DatasetResolver | None = None,
) -> Job:
    """Builds a job from its SQL text.

    Args:
        text: The statements of the job.
        variables: Values of `${name}`.
        sources: Sources that the text uses and does not declare.
        tables: Tables that the text uses and does not declare.
        connectors: The connectors that it may use; by default all that are installed.
        datasets: Resolves the names of a catalog's datasets.
    """
    with mask_secrets(text), mask_variables(variables or {}), deep_recursion(_nesting_error):
        namespace = _namespace(sources or {}, tables or {}, connectors)
        namespace.datasets = datasets
        return _job(parse(text, variables), namespace)


def read_settings(text: str, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the settings of a job without planning its queries."""
    with mask_secrets(text), mask_variables(variables or {}), deep_recursion(_nesting_error):
        return dict(_settings(parse(text, variables)))


def _job(statements: Sequence[Statement], namespace: JobNamespace) -> Job:
    for statement in statements:
        namespace.declare(statement)
    namespace.resolve_dead_letters()
    settings = _settings(statements)
    pipelines: list[Pipeline] = []
    for statement in statements:
        feed = _sink_and_query(statement)
        if feed is None:
            continue
        name, query = feed
        sink = namespace.sink(name, statement.place)
        engine = Engine(dict(settings).get("engine", "auto").lower())
        span = span_of(query.tree)
        planned = namespace.plan(query)
        errors = resolve_error_policy(planned, dict(settings).get("on.error"), namespace.sink)
        pipelines += branch_pipelines(
            _pipeline(sink, planned, engine, namespace.connectors, span, errors=errors)
        )
    if not pipelines:
        raise PlanError(
            "MS-PLAN-NO-QUERY",
            "the job has no query that writes to a sink.",
            fix="Add CREATE SINK name WITH (…) AS SELECT …, or INSERT INTO name SELECT …",
        )
    reject_excess_salt(pipelines, dict(settings).get("key_groups"))
    shared = tuple(share_window_times(pipelines))
    job = Job(shared, tuple(namespace.sinks.values()), settings, query.text)
    namespace.check_side_outputs(job)
    group_into_queries(job)  # rejects pipelines that cannot share a sink
    return job


def build_query(
    select_text: str,
    sources: Mapping[str, Source | Select],
    *,
    tables: Mapping[str, ReferenceTable] | None = None,
) -> Pipeline:
    """Builds the pipeline of one SELECT over the given sources, whose result is a DataFrame."""
    return build_pipeline(plan_select(select_text, sources, tables=tables))


def plan_select(
    select_text: str,
    inputs: Mapping[str, Source | Select],
    *,
    tables: Mapping[str, ReferenceTable] | None = None,
    side_outputs: Collection[str] = (),
    datasets: DatasetResolver | None = None,
    is_written: bool = True,
) -> PlannedQuery:
    """Plans one SELECT over `inputs`: sources and planned SELECTs, by name.

    `side_outputs` are the names allowed in 'late.sink'. With `datasets`, CREATE TABLE statements
    that read datasets may precede the SELECT. `is_written`: the user has written the text."""
    with deep_recursion(_nesting_error):
        statements = parse(select_text)
        select = statements[-1] if statements else None
        declared = [each for each in statements if _reads_dataset(each)]
        if not isinstance(select, SelectStatement) or len(declared) != len(statements) - 1:
            raise SqlError(
                "MS-SQL-STATEMENT",
                "the text must be exactly one SELECT.",
                fix="Run a text with other statements as a job.",
                place=statements[-1].place if statements else None,
            )
        namespace = _namespace(inputs, tables or {}, None)
        namespace.datasets = datasets
        namespace.sinks = {name.lower(): SinkDef(name, "dataframe") for name in side_outputs}
        for statement in declared:
            _reject_declared_input(statement, [*inputs, *(tables or {})])
            namespace.declare(statement)
        select.query.text.origins.is_written = is_written
        return namespace.plan(select.query)


def _reads_dataset(statement: Statement) -> TypeGuard[CreateTable]:
    return isinstance(statement, CreateTable) and reads_dataset(statement)


def _reject_declared_input(statement: CreateTable, inputs: Collection[str]) -> None:
    if any(same(statement.name, name) for name in inputs):
        raise PlanError(
            "MS-PLAN-DUPLICATE-NAME",
            f"{statement.name} is both a table of the text and an input of the query.",
            fix="Rename one of them.",
            place=statement.place,
        )


def plan_view(planned: PlannedQuery) -> Select:
    """Returns the stream that another query reads; rejects options of outermost queries."""
    return select_of_inner_query(planned, planned.select.place)


def build_pipeline(
    planned: PlannedQuery,
    sink: SinkDef | None = None,
    mode: OutputMode | None = None,
    errors: ErrorAction | None = None,
) -> Pipeline:
    """Returns the pipeline that writes a planned SELECT to a sink; by default to a DataFrame.
    `mode` replaces the query's own 'output.mode', `errors` is its default of 'on.error'."""
    sink = sink or SinkDef("result", "dataframe")
    policy = resolve_error_policy(planned, errors)
    return _pipeline(sink, planned, Engine.AUTO, installed_connectors(), mode=mode, errors=policy)


def build_sink(name: str, properties: Mapping[str, str]) -> SinkDef:
    """Returns the sink that CREATE SINK with these properties declares."""
    listed = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
    check_object_name("sink", name, None)
    (statement,) = parse(f"CREATE SINK {quote(name)} WITH ({listed})")
    assert isinstance(statement, CreateSink)
    return build_sink_definition(statement, installed_connectors())


def _nesting_error() -> PlanError:
    return PlanError(
        "MS-PLAN-SIZE",
        "the text is nested too deeply to be planned.",
        fix="Split it into several streams with CREATE STREAM.",
    )


def _namespace(
    sources: Mapping[str, Source | Select],
    tables: Mapping[str, ReferenceTable],
    connectors: ConnectorRegistry | None,
) -> JobNamespace:
    for name in sources:
        check_object_name("source", name, None)
    for name in tables:
        check_object_name("table", name, None)
    references = {name.lower(): table for name, table in tables.items()}
    known = installed_connectors() if connectors is None else connectors
    return JobNamespace(known, given_streams=dict(sources), given_tables=references)


def _pipeline(
    sink: SinkDef,
    planned: PlannedQuery,
    engine: Engine,
    connectors: ConnectorRegistry,
    span: tuple[int, int] | None = None,
    mode: OutputMode | None = None,
    errors: ErrorPolicy = FAIL,
) -> Pipeline:
    select = without_unread_columns(with_union_branches(planned.select))
    planned = replace(planned, select=select)
    reject_unlimited_rankings(planned.select)
    spec = connectors[sink.connector]
    mode = resolve_output_mode(planned.mode, planned.select, sink, spec.modes, mode)
    if spec.check_columns is not None:
        columns = [output.name for output in planned.select.outputs]
        spec.check_columns(sink, columns, mode is not OutputMode.APPEND)
    if spec.check_mode is not None:
        spec.check_mode(sink, mode)
    reject_nondeterministic(planned.select, mode)
    pipeline = Pipeline(
        sink.name, planned.select, sink, planned.emit, planned.engine or engine, mode, errors, span
    )
    reject_reserved_names(pipeline)
    choose_engine(pipeline)  # rejects a pipeline that no engine can run
    return pipeline


def _sink_and_query(statement: Statement) -> tuple[str, Query] | None:
    """Returns the sink and the query of a statement that writes to a sink."""
    if isinstance(statement, InsertInto):
        return statement.sink, statement.query
    if isinstance(statement, CreateSink) and statement.query:
        return statement.name, statement.query
    if isinstance(statement, SelectStatement):
        raise PlanError(
            "MS-PLAN-NO-SINK",
            "this SELECT does not write to a sink.",
            fix="Write CREATE SINK name WITH (…) AS before it, or INSERT INTO name.",
            place=statement.place,
        )
    return None


def _settings(statements: Sequence[Statement]) -> tuple[tuple[str, str], ...]:
    """Returns the job's settings; the last SET of a name has precedence."""
    items = [s.property for s in statements if isinstance(s, SetProperty)]
    settings: dict[str, str] = {}
    for item in items:
        settings |= {
            name: found.value
            for name, found in check_properties(PropertyOwner.JOB, (item,)).items()
        }
    return tuple(settings.items())
