"""Runs a job in the session of a benchmark and returns the time of its micro-batches."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any


def batch_seconds(spark: Any, sql: str, checkpoint: Path, base: Path) -> list[float]:
    """Runs a job to the end of its input and returns the time of each micro-batch."""
    from millstream.plan.build.job import build_job
    from millstream.run.job import JobRun

    job = JobRun(spark, build_job(sql), checkpoint, base)
    job.start({"availableNow": True})
    try:
        while not job.wait(60):
            time.sleep(0)
        progress = [dict(each) for each in job.running[0].streaming_query.recentProgress]
    finally:
        job.stop()
    batches = [each for each in progress if each["numInputRows"]]
    return [each["durationMs"]["triggerExecution"] / 1000 for each in batches]
