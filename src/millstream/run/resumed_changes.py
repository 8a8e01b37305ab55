"""Reports what has changed in a job since the run that it resumes."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.nodes import Job
from millstream.run.checkpoint import Checkpoint
from millstream.run.settings import RunSettings


def describe_resumed_changes(job: Job, settings: RunSettings) -> Iterator[str]:
    """Yields a line for each query that has changed, with the first batch that it applies to.

    A change that state depends on has been rejected by then.
    """
    for query in group_into_queries(job):
        folder = Checkpoint(settings.checkpoint / query.name)
        if found := folder.changes(query, job.sinks):
            batch = folder.next_batch
            yield f"changed     {query.title}, from batch {batch} on: {'; '.join(found)}"
