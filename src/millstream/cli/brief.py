"""What a run is going to do, in a few lines: the short form of `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.cli.words import shown
from millstream.connectors.paths import resolve
from millstream.plan.check import PipelineFacts, check_job
from millstream.plan.nodes import Job
from millstream.plan.walk import sources_of
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
    join = facts.join
    if join is None:
        (source,) = sources_of(facts.pipeline.root)
        what = f"rows of {source.name}, no state"
    else:
        left, right = join.left, join.right
        what = f"{join.join.how} join of {left.name} {left.alias} and {right.name} {right.alias}"
        what += f", {facts.engine} engine"
    yield f"{facts.pipeline.name}: {what}, to {' '.join(filter(None, (sink.connector, target)))}"
    if join is not None:
        difference = f"{right.alias}.{right.time} - {left.alias}.{left.time}"
        yield f"  bound     {difference} in {join.join.bounds}"
        yield f"  state     {left.state} and {right.state}, while both keep pace"


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
    for pipeline in job.pipelines:
        folder = Checkpoint(settings.checkpoint / pipeline.name)
        name = f"{pipeline.name} " if len(job.pipelines) > 1 else ""
        told.append(
            f"{name}resuming from batch {folder.next_batch}" if folder.begun else f"{name}new"
        )
    return ", ".join(told)
