"""A job as a tree to read, or as data. Both are made of the facts that `check` derives."""

from __future__ import annotations

from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec, Delivery
from millstream.plan.explain.as_json import explain_json
from millstream.plan.explain.blocks import Block, labelled, lines_of
from millstream.plan.explain.secrets import masked, options_text
from millstream.plan.explain.source_use import SourceUse
from millstream.plan.explain.tables import asked_text, table_join_block
from millstream.plan.facts.check import (
    PipelineFacts,
    check_job,
    hold_of,
    name_of,
    table_facts,
)
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Job, Node, Select, SinkDef, Source, TableJoin
from millstream.plan.walk import inputs_of, references_of, retracts
from millstream.temporal import MissingTime, OutputMode, format_span

__all__ = ["explain", "explain_json"]


def explain(job: Job, connectors: ConnectorRegistry | None = None) -> str:
    """The job as a tree, at most 100 columns wide."""
    known = installed_connectors() if connectors is None else connectors
    facts = check_job(job)
    blocks = [_pipeline(each, known) for each in facts]
    settings = [(name, masked(name, value)) for name, value in job.settings]
    asked = tuple(asked_text(table, known[table.connector]) for table in references_of(job))
    told = (*settings, *labelled("tables", asked))
    lines = lines_of(Block("Job", told, tuple(blocks)))
    return "\n".join(lines) + "\n"


def _pipeline(facts: PipelineFacts, connectors: ConnectorRegistry) -> Block:
    pipeline = facts.pipeline
    strategy = str(facts.strategy)
    if len(facts.strategies) > 1:
        strategy = "; then ".join(each.brief for each in facts.strategies)
    told = [("engine", f"{facts.engine}: {facts.reason}"), ("strategy", strategy)]
    if pipeline.emit:
        told.append(("emit", str(pipeline.emit)))
    if pipeline.mode is not OutputMode.APPEND or retracts(pipeline.root):
        told.append(("mode", _MODES[pipeline.mode]))
    below = _node(pipeline.root, SourceUse.of(facts, connectors))
    sink = _sink(pipeline.sink, connectors[pipeline.sink.connector], below)
    return Block(f"Pipeline {pipeline.name}", tuple(told), (sink,))


_MODES = {
    OutputMode.APPEND: "append: rows are never taken back",
    OutputMode.UPSERT: "upsert: _op says +I new, +U changed, -D gone; old rows are left out",
    OutputMode.RETRACT: "retract: _op says +I new, -U the old and +U the new of a change, -D gone",
}


_DELIVERY = {
    Delivery.EXACTLY_ONCE: "exactly once: a batch that is written again replaces itself",
    Delivery.AT_LEAST_ONCE: "at least once: after a failure, rows may be written again",
    Delivery.NONE: "none: rows are not stored",
}


def _sink(sink: SinkDef, spec: ConnectorSpec, below: Block) -> Block:
    told = [("delivery", _DELIVERY[spec.delivery])]
    if sink.options:
        told.append(("options", options_text(spec, sink.options)))
    return Block(f"Sink {sink.name}: {sink.connector}", tuple(told), (below,))


def _node(node: Node, use: SourceUse, alias: str | None = None) -> Block:
    called = f" as {alias}" if alias and alias != name_of(node, "") else ""
    if isinstance(node, Source):
        return _source(node, use, called)
    if isinstance(node, Select):
        return _select(node, use, called)
    if isinstance(node, TableJoin):
        child = _node(node.left.node, use, node.left.alias)
        return table_join_block(table_facts(node), child, use.connectors)
    children = tuple(_node(side.node, use.by(side), side.alias) for side in inputs_of(node))
    kind = kind_of(node)
    return kind.block(kind.facts(node), children)


def _select(select: Select, use: SourceUse, called: str) -> Block:
    told = [("columns", ", ".join(_output_text(str(o.expression), o.name) for o in select.outputs))]
    if select.where:
        told.append(("where", str(select.where)))
    if select.window:
        told.append(("window", "{} to {}".format(*select.window)))
    hold = hold_of(select)
    told.append(("time", str(hold) if hold else "none: no output is an event time"))
    below = _node(select.input, use, select.alias)
    return Block(f"Select{called}", tuple(told), (below,))


def _output_text(sql: str, name: str) -> str:
    return sql if sql.rsplit(".", 1)[-1] == name else f"{sql} AS {name}"


def _source(source: Source, use: SourceUse, called: str) -> Block:
    told = [("columns", ", ".join(f"{c.name} {c.type or '?'}" for c in source.columns))]
    if source.watermark:
        delay = f"delay {format_span(source.watermark.delay)}"
        every = source.watermark.every
        advances = f", advances every {every} rows" if every > 1 else ""
        told.append(("watermark", f"{source.watermark.column}, {delay}{advances}"))
        told.append(("no time", _missing_time(source, use)))
        if (max_ahead := _max_ahead(source, use)) is not None:
            told.append(("max ahead", max_ahead))
    else:
        told.append(("watermark", "none"))
    if source.idle is not None:
        silent = format_span(source.idle)
        told.append(("idle", f"silent for {silent}, it holds no watermark back until it speaks"))
    letters = f" to {source.dead_letter}" if source.dead_letter else ""
    told.append(("malformed", f"{source.malformed}{letters}"))
    if source.options:
        told.append(("options", options_text(use.connectors[source.connector], source.options)))
    return Block(f"Source {source.name}{called}: {source.connector}", tuple(told))


def _missing_time(source: Source, use: SourceUse) -> str:
    if use.stateless and source.missing_time is not MissingTime.WALL_CLOCK:
        return "rows without an event time pass: the query keeps no state"
    return _MISSING[source.missing_time]


def _max_ahead(source: Source, use: SourceUse) -> str | None:
    """None: the source does not set it, and there is no watermark to protect."""
    if source.max_ahead == 0:
        return "off"
    limit = use.max_ahead(source)
    if limit is None:
        return None if source.max_ahead is None else "not used: no watermark is at risk"
    return f"a row more than {format_span(limit)} ahead of processing time is rejected"


_MISSING = {
    "error": "error: a row without an event time stops the job",
    "skip": "skip: a row without an event time is counted and left out",
    "wall_clock": "wall_clock: a row without an event time gets the batch's time",
}
