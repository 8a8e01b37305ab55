"""The facts of `explain` as data: spans in microseconds, policies by their names."""

from __future__ import annotations

from typing import Any

from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.explain.json_joins import table_data, table_join_data
from millstream.plan.explain.json_words import output_data
from millstream.plan.explain.secrets import masked, masked_options
from millstream.plan.explain.source_use import SourceUse
from millstream.plan.expressions.spark_sql import text_or_none
from millstream.plan.facts.check import PipelineFacts, check_job, hold_of, table_facts
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Job, Node, Select, SinkDef, Source, TableJoin
from millstream.plan.walk import inputs_of, references_of


def explain_json(job: Job, connectors: ConnectorRegistry | None = None) -> dict[str, Any]:
    """The job as JSON-able data, with the same facts as `explain`."""
    known = installed_connectors() if connectors is None else connectors
    return {
        "settings": {name: masked(name, value) for name, value in job.settings},
        "sinks": [_sink(sink, known) for sink in job.sinks],
        "tables": [table_data(table, known) for table in references_of(job)],
        "pipelines": [_pipeline(facts, known) for facts in check_job(job)],
    }


def _sink(sink: SinkDef, connectors: ConnectorRegistry) -> dict[str, Any]:
    spec = connectors[sink.connector]
    return {
        "name": sink.name,
        "connector": sink.connector,
        "delivery": str(spec.delivery),
        "options": masked_options(spec, sink.options),
    }


def _pipeline(facts: PipelineFacts, connectors: ConnectorRegistry) -> dict[str, Any]:
    pipeline = facts.pipeline
    return {
        "name": pipeline.name,
        "engine": str(facts.engine),
        "reason": facts.reason,
        "strategy": {"kind": facts.strategy.kind, "key": facts.strategy.key},
        "emit": str(pipeline.emit) if pipeline.emit else None,
        "mode": str(pipeline.mode),
        "sink": _sink(pipeline.sink, connectors),
        "root": _node(pipeline.root, SourceUse.of(facts, connectors)),
    }


def _node(node: Node, use: SourceUse) -> dict[str, Any]:
    if isinstance(node, Source):
        return _source(node, use)
    if isinstance(node, Select):
        hold = hold_of(node)
        return {
            "kind": "select",
            "outputs": [output_data(output) for output in node.outputs],
            "where": text_or_none(node.where),
            "alias": node.alias,
            "window": list(node.window) if node.window else None,
            "time": hold.time if hold else None,
            "hold_us": hold.hold if hold else None,
            "input": _node(node.input, use),
        }
    if isinstance(node, TableJoin):
        return table_join_data(table_facts(node), _node(node.left.node, use), use.connectors)
    kind = kind_of(node)
    return kind.data(kind.facts(node), [_node(side.node, use.by(side)) for side in inputs_of(node)])


def _source(source: Source, use: SourceUse) -> dict[str, Any]:
    watermark = source.watermark
    return {
        "kind": "source",
        "name": source.name,
        "connector": source.connector,
        "columns": [{"name": c.name, "type": c.type} for c in source.columns],
        "watermark": {
            "column": watermark.column,
            "delay_us": watermark.delay,
            "every_rows": watermark.every,
        }
        if watermark
        else None,
        "idle_us": source.idle,
        "max_ahead_us": use.max_ahead(source),  # None: off
        "event_missing": str(source.missing_time),
        "malformed": str(source.malformed),
        "dead_letter": source.dead_letter,
        "options": masked_options(use.connectors[source.connector], source.options),
    }
