"""What a run is going to do, in a few lines: the short form of `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.cli.formats import shown
from millstream.connectors.paths import resolve
from millstream.plan.build.query_groups import queries_of
from millstream.plan.facts.pipeline import PipelineFacts, check_job
from millstream.plan.kinds import join_kind_of, kind_of
from millstream.plan.nodes import Job, Join, Operator
from millstream.plan.nodes.traversal import sources_of
from millstream.run.checkpoint import Checkpoint
from millstream.run.settings import RunSettings
from millstream.temporal import format_span


def brief(job: Job, settings: RunSettings) -> Iterator[str]:
    for facts in check_job(job):
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
        yield f"  state     {each.state}"


def _bound(operator: Operator) -> str | None:
    return join_kind_of(operator).bound(operator) if isinstance(operator, Join) else None


def _trigger(settings: RunSettings) -> str:
    if settings.flush:
        return "once, then the end of input: all that is held comes out"
    if settings.once:
        return "once: what is there now; state is kept for the next run"
    if settings.every:
        return f"every {format_span(settings.every)}, until stopped (Ctrl-C)"
    return "as rows come, until stopped (Ctrl-C)"


def _resumed(job: Job, settings: RunSettings) -> str:
    told = []
    queries = queries_of(job)
    for query in queries:
        folder = Checkpoint(settings.checkpoint / query.name)
        name = f"{query.title} " if len(queries) > 1 else ""
        told.append(
            f"{name}resuming from batch {folder.next_batch}" if folder.begun else f"{name}new"
        )
    return ", ".join(told)
