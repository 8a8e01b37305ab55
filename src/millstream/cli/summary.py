"""Summarizes a run in a few lines before it starts, like a short `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.cli.formats import shown
from millstream.connectors.paths import resolve
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.facts.pipeline import PipelineFacts, derive_job_facts
from millstream.plan.kinds import join_kind_of, kind_of
from millstream.plan.nodes import Job, Join, Operator
from millstream.plan.nodes.traversal import sources_of
from millstream.run.checkpoint import Checkpoint
from millstream.run.settings import RunSettings
from millstream.temporal import format_span


def summarize_run(job: Job, settings: RunSettings) -> Iterator[str]:
    for facts in derive_job_facts(job):
        yield from _pipeline(facts, settings)
    yield f"trigger     {_trigger(settings)}"
    yield f"checkpoint  {shown(settings.checkpoint)}: {_resumed(job, settings)}"


def _pipeline(facts: PipelineFacts, settings: RunSettings) -> Iterator[str]:
    sink = facts.pipeline.sink
    path = sink.option("path")
    target = shown(resolve(path, settings.base)) if path else ""
    whats = [kind_of(each.operator).summary(each.operator) for each in facts.operators]
    whats += [f"{each.join.how} join with table {each.join.table.name}" for each in facts.tables]
    if not facts.operators:
        whats.insert(0, f"rows of {sources_of(facts.pipeline.root)[0].name}, no state")
    else:
        whats.append(f"{facts.engine} engine")
    to = " ".join(filter(None, (sink.connector, target)))
    yield f"{facts.pipeline.name}: {', '.join(whats)}, to {to}"
    for each in facts.operators:
        if bound := _bound(each.operator):
            yield f"  bound     {bound}"
        yield f"  state     {each.state_size}"


def _bound(operator: Operator) -> str | None:
    return join_kind_of(operator).bound(operator) if isinstance(operator, Join) else None


def _trigger(settings: RunSettings) -> str:
    if settings.flush:
        return "once, then end of input: closes windows and emits unmatched rows of outer joins"
    if settings.once:
        return "once: processes available input; the next run resumes from the checkpoint"
    if settings.every:
        return f"every {format_span(settings.every)}, until stopped (Ctrl-C)"
    return "continuous, until stopped (Ctrl-C)"


def _resumed(job: Job, settings: RunSettings) -> str:
    parts = []
    queries = group_into_queries(job)
    for query in queries:
        folder = Checkpoint(settings.checkpoint / query.name)
        name = f"{query.title} " if len(queries) > 1 else ""
        parts.append(
            f"{name}resuming from batch {folder.next_batch}" if folder.has_started else f"{name}new"
        )
    return ", ".join(parts)
