"""Builds the document that `explain` renders, in one walk over the nodes of a job.

`plan.kinds` describes each operator; `plan.facts` derives what depends on the plan around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.plan.build.query_groups import choose_query_engine, group_into_queries
from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec, Delivery
from millstream.plan.document import Child, Fact, Query, Section, data, fact, text
from millstream.plan.document import Job as JobDocument
from millstream.plan.document.formats import output_data
from millstream.plan.explain.error_policy import error_policy_facts
from millstream.plan.explain.sources import SourceUse, source_section
from millstream.plan.explain.tables import table_join_facts, table_line, table_section
from millstream.plan.expressions.spark_sql import sql_or_none
from millstream.plan.facts.output_groups import query_operators
from millstream.plan.facts.pipeline import PipelineFacts, derive_job_facts, derive_operator_facts
from millstream.plan.facts.side_outputs import shared_dead_letter_queries
from millstream.plan.facts.table_join import derive_table_facts
from millstream.plan.facts.union import union_of
from millstream.plan.facts.watermark_delay import result_time
from millstream.plan.kinds import kind_of
from millstream.plan.kinds.stream_names import node_name
from millstream.plan.nodes import (
    Input,
    Job,
    Join,
    Node,
    Operator,
    Pipeline,
    Select,
    SinkDef,
    Source,
    TableJoin,
    UnionAll,
)
from millstream.plan.nodes import Query as PlannedQuery
from millstream.plan.nodes.traversal import (
    can_retract,
    inputs_of,
    operators_of,
    reference_tables_of,
)
from millstream.plan.secrets import mask_options, mask_secret, options_text
from millstream.temporal import OutputMode


def build_document(job: Job, connectors: ConnectorRegistry) -> JobDocument:
    """Builds the document of a job."""
    settings = {name: mask_secret(name, value) for name, value in job.settings}
    queries = group_into_queries(job)
    query_of = {output: query for query in queries for output in query.outputs}
    letters = shared_dead_letter_queries(queries)
    tables = reference_tables_of(job)
    lines = (table_line(table, connectors[table.connector]) for table in tables)
    return JobDocument(
        (Fact("settings", settings, tuple(settings.items())), text("tables", *lines)),
        tuple(_sink(sink, connectors) for sink in job.sinks),
        tuple(table_section(table, connectors) for table in tables),
        tuple(
            _query(facts, query_of[facts.pipeline], connectors, letters)
            for facts in derive_job_facts(job)
        ),
    )


def _query(
    facts: PipelineFacts,
    query: PlannedQuery,
    connectors: ConnectorRegistry,
    dead_letter_queries: Mapping[str, str],
) -> Query:
    pipeline, strategy = facts.pipeline, str(facts.strategy)
    if len(facts.strategies) > 1:
        strategy = "; then ".join(each.brief for each in facts.strategies)
    changes = pipeline.mode is not OutputMode.APPEND or can_retract(pipeline.root)
    first = {"kind": facts.strategy.kind, "key": facts.strategy.key}
    emit = str(pipeline.emit) if pipeline.emit else None
    engine, reason = choose_query_engine(query)
    if engine is facts.engine:
        reason = facts.reason
    elif not facts.operators:
        reason = "used by other outputs of the same Spark query"
    return Query(
        f"Pipeline {pipeline.name}",
        (
            data("name", pipeline.name),
            fact("query", query.name, "query", *_shared_query_text(pipeline, query)),
            fact("engine", str(engine), "engine", f"{engine}: {reason}"),
            data("reason", reason),
            fact("strategy", first, "strategy", strategy),
            *_branch_facts(pipeline),
            fact("emit", emit, "emit", *([emit] if emit else [])),
            fact("mode", str(pipeline.mode), "mode", *([_MODES[pipeline.mode]] if changes else [])),
            *error_policy_facts(pipeline),
        ),
        (_sink(pipeline.sink, connectors),),
        _node(pipeline.root, SourceUse.from_facts(facts, query, connectors, dead_letter_queries)),
    )


def _shared_query_text(pipeline: Pipeline, query: PlannedQuery) -> tuple[str, ...]:
    """Describes what a pipeline shares with other outputs of its query; empty if it has none."""
    others = [each for each in query.outputs if each is not pipeline]
    if not others:
        return ()
    computed = query_operators(query)
    elsewhere = {each for other in others for each in operators_of(other.root)}
    names = [
        kind_of(each).summary(each)
        for each in operators_of(pipeline.root)
        if each in elsewhere and computed.count(each) == 1
    ]
    once = f"; computed once: {', '.join(names)}" if names else ""
    return (f"one Spark query writes {query.title}{once}",)


def _branch_facts(pipeline: Pipeline) -> tuple[Fact, ...]:
    if pipeline.branch is None:
        return ()
    number, count = pipeline.branch
    shown = f"query {number} of {count} of a UNION ALL"
    return (fact("branch", {"number": number, "count": count}, "branch", shown),)


_MODES = {
    OutputMode.APPEND: "append: rows are never retracted",
    OutputMode.UPSERT: "upsert: _op is +I insert, +U update, -D delete; no old values",
    OutputMode.RETRACT: "retract: _op is +I insert, -U/+U update (old, new value), -D delete",
}
_DELIVERY = {
    Delivery.EXACTLY_ONCE: "exactly once: a repeated batch replaces its first attempt",
    Delivery.AT_LEAST_ONCE: "at least once: rows may be written again after a failure",
    Delivery.NONE: "none: rows are not stored",
}


def _delivery_text(delivery: Delivery, spec: ConnectorSpec) -> str:
    text = _DELIVERY[delivery]
    if not spec.delivery_reason or delivery is not spec.delivery:
        return text
    return f"{text.partition(':')[0]}: {spec.delivery_reason}"


def _sink(sink: SinkDef, connectors: ConnectorRegistry) -> Section:
    spec = connectors[sink.connector]
    shown = [options_text(spec, sink.options)] if sink.options else []
    delivery = spec.delivery_of(sink) if spec.delivery_of else spec.delivery
    limit = spec.limit_of(sink) if spec.limit_of else ""
    return Section(
        f"Sink {sink.name}: {sink.connector}",
        (
            data("name", sink.name),
            data("connector", sink.connector),
            fact("delivery", str(delivery), "delivery", _delivery_text(delivery, spec)),
            *((fact("limit", limit, "limit", limit),) if limit else ()),
            fact("options", mask_options(spec, sink.options), "options", *shown),
        ),
    )


def _node(node: Node, use: SourceUse, alias: str | None = None) -> Section:
    renamed = f" as {alias}" if alias and alias != node_name(node, "") else ""
    if isinstance(node, Source):
        return source_section(node, use, renamed)
    if isinstance(node, Select):
        union = union_of(node)
        return _select(node, use, renamed) if union is None else _union(union, use, renamed)
    if isinstance(node, UnionAll):
        return _union(node, use, renamed)
    if isinstance(node, TableJoin):
        facts = derive_table_facts(node)
        title, join_facts = table_join_facts(facts)
        left = Child("left", (_input(node.left, use),))
        table = table_section(node.table, use.connectors, node.alias, facts)
        return Section(title, join_facts, (left, Child("table", (table,))))
    return _operator(node, use)


def _operator(node: Operator, use: SourceUse) -> Section:
    kind = kind_of(node)
    found = kind.describe(node, derive_operator_facts(node))
    sides = inputs_of(node)
    of_inputs = found.inputs or ((),) * len(sides)
    inputs = tuple(
        _input(side, use.for_input(side), facts)
        for side, facts in zip(sides, of_inputs, strict=True)
    )
    join = isinstance(node, Join)
    below = Child("sides" if join else "input", inputs, is_list=join)
    return Section(found.title, (data("kind", kind.name), *found.facts), (below,))


def _input(side: Input, use: SourceUse, facts: Iterable[Fact] = ()) -> Section:
    own = (
        data("alias", side.alias),
        data("time", side.time),
        data("delay_us", side.delay),
        data("columns_read", list(side.used)),
        *facts,
    )
    return Section("", own, (Child("node", (_node(side.node, use, side.alias),)),))


def _select(select: Select, use: SourceUse, renamed: str) -> Section:
    found = result_time(select)
    columns = ", ".join(_column(str(each.expression), each.name) for each in select.outputs)
    window = ["{} to {}".format(*select.window)] if select.window else []
    where = [str(select.where)] if select.where else []
    time = str(found) if found else "none: no output column is an event time"
    return Section(
        f"Select{renamed}",
        (
            data("kind", "select"),
            fact("outputs", [output_data(each) for each in select.outputs], "columns", columns),
            fact("where", sql_or_none(select.where), "where", *where),
            data("alias", select.alias),
            fact("window", list(select.window) if select.window else None, "window", *window),
            fact("time", found.time if found else None, "time", time),
            data("watermark_delay_us", found.delay if found else None),
        ),
        (Child("input", (_node(select.input, use, select.alias),)),),
    )


def _union(union: UnionAll, use: SourceUse, renamed: str) -> Section:
    columns = ", ".join(each.name for each in union.columns)
    time = "none: the queries have no event time at the same position"
    if union.time is not None:
        time = f"{union.time}; watermark is the minimum over the branches"
    return Section(
        f"Union all{renamed}",
        (
            data("kind", "union_all"),
            fact("columns", [each.name for each in union.columns], "columns", columns),
            fact("time", union.time, "time", time),
        ),
        (Child("branches", tuple(_node(each, use) for each in union.inputs), is_list=True),),
    )


def _column(sql: str, name: str) -> str:
    return sql if sql.rsplit(".", 1)[-1] == name else f"{sql} AS {name}"
