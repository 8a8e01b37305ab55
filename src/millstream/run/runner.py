"""Runs a job in a thread of its own, because calls into Spark block and signals must be handled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from millstream.plan.nodes import Job, ReferenceTable, Source
from millstream.run.failures import explained, unwritable_checkpoint
from millstream.run.job import JobRun
from millstream.run.processing_time import ProcessingClock, ProcessingTimeSender
from millstream.run.settings import RunSettings

_POLL = 0.2
_PATIENCE = 30.0
_STARTING = "starting queries"


@dataclass(slots=True)
class Runner:
    """A run of a job, from the start of Spark to the end. `phase` is its current step, `error` the
    reason of its failure."""

    job: Job
    settings: RunSettings
    session: Callable[[], SparkSession]
    log: Path | None = None
    sources: Callable[[SparkSession, Source], DataFrame | None] | None = None  # None: its connector
    read_table: Callable[[ReferenceTable], pa.Table] | None = None
    at_end: Callable[[], None] | None = None  # called once the run has ended
    run: JobRun | None = None
    phase: str = "starting Spark"
    error: BaseException | None = None
    _stopping: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def start(self) -> None:
        """Starts the thread."""
        # A daemon, so that a Spark that hangs cannot keep the process alive.
        self._thread = Thread(target=self._work, name="millstream-run", daemon=True)
        self._thread.start()

    def done(self, seconds: float) -> bool:
        """Waits for `seconds` at most. Returns whether the run has ended."""
        assert self._thread is not None
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Stops the run. The next run repeats a batch that is not complete."""
        self._stopping.set()
        if self.run is None:
            return
        # If queries are still being started, the thread stops them.
        patience = _PATIENCE if self.phase == _STARTING else 1.0
        self.phase = "stopping"
        self.run.stop()
        self.done(patience)

    def _work(self) -> None:
        try:
            spark = self.session()
            if self._stopping.is_set():
                return
            self.run = JobRun(
                spark,
                self.job,
                self.settings.checkpoint,
                self.settings.base,
                sources=self.sources,
                groups=self.settings.groups,
                log=self.log,
                read_table=self.read_table,
                flushes=self.settings.flush,
            )
            self._run(self.run)
        except BaseException as error:  # noqa: BLE001 -- reported by the thread that waits
            if not self._stopping.is_set():
                self.error = self._explained(error)
        finally:
            if self.run is not None:
                self.run.stop()
            if self.at_end is not None:
                self.at_end()

    def _explained(self, error: BaseException) -> BaseException:
        found = explained(error, self.log)
        if found is not None and found.code in ("MS-RUN-FAILED", "MS-RUN-DISK", "MS-RUN-SINK"):
            # Spark's report rarely contains the folder that it could not write.
            return unwritable_checkpoint(self.settings.checkpoint) or found
        return found or error

    def _run(self, run: JobRun) -> None:
        self.phase = _STARTING
        run.start(self.settings.trigger)
        self.phase = "running"
        if self.settings.flush:
            while not self._stopping.is_set() and not run.wait(_POLL):
                pass
            if not self._stopping.is_set():
                self.phase = "flushing: the input has ended"
                run.flush()
            return
        sender = ProcessingTimeSender(run, ProcessingClock(start=run.last_processing_time))
        while not self._stopping.is_set() and not run.wait(_POLL):
            sender.send_if_due()
            run.tables.refresh_due()
            self.phase = "; ".join(["running", *run.tables.news.values()])
