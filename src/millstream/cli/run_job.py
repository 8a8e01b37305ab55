"""A run from its checks to its account."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGINT

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console

from millstream.cli import errors as fail
from millstream.cli.display import Display, Lines, LiveTable, Silent
from millstream.cli.formats import shown
from millstream.cli.interrupt import Signals
from millstream.cli.load_job import placed_in
from millstream.cli.result import after_failure, as_data, show
from millstream.cli.summary import brief
from millstream.engine.runtime.jvm import active_session
from millstream.engine.runtime.session import session, warm
from millstream.engine.shuffle.control_stream import has_ended
from millstream.errors import MillstreamError, StateError
from millstream.plan.build.query_groups import engine_of, queries_of
from millstream.plan.facts.branches import query_operators
from millstream.plan.nodes import Engine, Job, Query
from millstream.run.checkpoint import Checkpoint, locked
from millstream.run.dataset_versions import DatasetVersions, record_versions
from millstream.run.failures import not_writable
from millstream.run.outputs import forget, refuse_foreign_files
from millstream.run.progress import Progress, progress_of
from millstream.run.runner import Drive
from millstream.run.settings import FOLDER, RunSettings

_POLL = 0.25


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    file: Path
    job: Job
    settings: RunSettings
    log: Path | None
    cores: int | None
    fresh: bool
    quiet: bool
    as_json: bool
    datasets: DatasetVersions = field(default_factory=DatasetVersions)

    def say(self, text: str) -> None:
        """For people: on stderr, so that stdout holds results alone."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def execute(request: Request) -> int:
    """Run, and print what came of it; the exit code."""
    settings = request.settings
    with ExitStack() as held, placed_in(request.file):
        try:
            _make(settings.checkpoint)
            held.enter_context(locked(settings.checkpoint))
        except OSError as error:
            raise not_writable(error.strerror or str(error), settings.checkpoint) from None
        if request.fresh:
            forget(request.job, settings)
        for line in record_versions(settings.checkpoint, request.datasets):
            request.say(line)
        job = _check(request.job, settings)
        if job.pipelines != request.job.pipelines:
            names = [each.name for each in request.job.pipelines if each not in job.pipelines]
            request.say(f"Not run, since an earlier run ended their input: {', '.join(names)}.")
            request = replace(request, job=job)
        for line in brief(request.job, settings):
            request.say(line)
        if request.as_json:
            # A console sink prints to stdout, which is for the account alone.
            held.enter_context(redirect_stdout(sys.stderr))
        return _run(request, held)


def _run(request: Request, held: ExitStack) -> int:
    log = request.log or request.settings.checkpoint / "spark.log"
    before = active_session()

    def start() -> SparkSession:
        settings = request.settings
        ends = settings.once or settings.flush
        spark = before or session(dict(settings.spark), request.cores, log, ends=ends)
        if any(engine_of(each)[0] is Engine.COLUMNAR for each in queries_of(request.job)):
            warm(spark)
        return spark

    drive = Drive(request.job, request.settings, start, log)
    with Signals() as signals:
        _wait(request, drive, signals)
        held.close()
        errors = [each.in_file(str(request.file)) for each in _errors(drive, signals)]
        running = drive.run.running if drive.run else []
        if request.as_json:
            fail.print_json(as_data(request, drive.run, errors))
        elif not request.quiet:
            show(request, running)
        for error in errors:
            fail.show(error)
        if drive.run is not None and errors:
            for line in after_failure(drive.run):
                request.say(line)
        if before is None and drive.run is not None:
            with suppress(Exception):  # its JVM may have ended, which is reported by then
                drive.run.spark.stop()
    if errors:
        return fail.exit_code(errors[0])
    if any(each.tally.account.errors for each in running):
        return 1
    return fail.INTERRUPTED if signals.heard is SIGINT else 0


def _errors(drive: Drive, signals: Signals) -> list[MillstreamError]:
    """Returns the errors of failed queries, or the error of the run as a whole."""
    failures = list(drive.run.failures.values()) if drive.run else []
    error = drive.error
    if error is None or error in failures or signals.heard is not None:
        return failures
    return [error if isinstance(error, MillstreamError) else fail.bug(error)]


def _wait(request: Request, drive: Drive, signals: Signals) -> None:
    """Show progress until the run has ended by itself or a signal has ended it."""
    display = _display(request)
    warned = 0
    drive.start()
    try:
        while not drive.done(_POLL) and signals.heard is None:
            display.update(drive.phase, _progress(drive))
            warned = _warn(drive, display, warned)
    finally:
        _warn(drive, display, warned)
        display.close()
    if signals.heard is not None:
        request.say("Stopping. A batch under way is given up and done again by the next run.")
        drive.stop()
        request.say(f"Stopped. To go on, run it again with {shown(request.settings.checkpoint)}.")


def _warn(drive: Drive, display: Display, shown: int) -> int:
    """Shows the warnings after the first `shown`; returns the number of all."""
    warnings = drive.run.warnings if drive.run else []
    for text in warnings[shown:]:
        display.warn(text)
    return len(warnings)


def _progress(drive: Drive) -> list[Progress]:
    running = drive.run.healthy() if drive.run else []
    with suppress(Py4JError, PySparkException, OSError):
        return [progress_of(each) for each in running]
    return []  # the JVM does not answer: the run's own thread finds out why


def _display(request: Request) -> Display:
    if request.quiet:
        return Silent()
    console = Console(stderr=True)
    return LiveTable(console) if console.is_terminal else Lines(sys.stderr)


def _make(checkpoint: Path) -> None:
    """The folder; one that nobody named hides itself from Git."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    ignore = checkpoint.parent / ".gitignore"
    if checkpoint.parent.name == FOLDER and not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


def _check(job: Job, settings: RunSettings) -> Job:
    """Reject what can be rejected before Spark is started. Returns the job without queries whose
    input an earlier run ended, if this run can complete others."""
    ended: list[Query] = []
    pending: list[Query] = []
    for query in queries_of(job):
        folder = Checkpoint(settings.checkpoint / query.name)
        folder.check(query)
        if not query_operators(query):
            continue
        said = has_ended(folder.control) and not settings.flush
        (ended if folder.ended or said else pending).append(query)
    if ended and not (pending and settings.flush):
        names = ", ".join(each.title for each in pending)
        raise StateError(
            "MS-STATE-ENDED",
            "an earlier run with --flush ended the input of "
            f"{shown(settings.checkpoint / ended[0].name)}: every row that came now would be late.",
            fix=(f"Add --flush to complete {names}. Or add" if names else "Add")
            + " --fresh to start anew, or name another --checkpoint. Leave --flush out of runs "
            "that shall go on later.",
        )
    refuse_foreign_files(job, settings)
    done = [output for query in ended for output in query.outputs]
    return replace(job, pipelines=tuple(each for each in job.pipelines if each not in done))
