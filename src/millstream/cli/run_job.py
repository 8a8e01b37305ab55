"""Runs a job: validation, progress, result."""

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
from millstream.cli.display import Display, Lines, LiveTable, NoDisplay
from millstream.cli.formats import shown
from millstream.cli.interrupt import Signals
from millstream.cli.load_job import placed_in
from millstream.cli.result import after_failure, as_data, show
from millstream.cli.summary import summarize_run
from millstream.engine.runtime.jvm import active_session
from millstream.engine.runtime.session import session, warm
from millstream.engine.shuffle.control_stream import has_ended
from millstream.errors import MillstreamError, StateError
from millstream.plan.build.query_groups import choose_query_engine, group_into_queries
from millstream.plan.facts.output_groups import query_operators
from millstream.plan.nodes import Engine, Job, Query
from millstream.run.checkpoint import Checkpoint, locked
from millstream.run.dataset_versions import DatasetVersions, record_versions
from millstream.run.failures import not_writable
from millstream.run.outputs import reject_foreign_files, remove_outputs
from millstream.run.progress import Progress, progress_of
from millstream.run.resumed_changes import describe_resumed_changes
from millstream.run.runner import Runner
from millstream.run.settings import FOLDER, RunSettings

_POLL = 0.25


@dataclass(frozen=True, slots=True)
class Request:
    """A run as requested on the command line."""

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
        """Prints a message to stderr, because stdout is reserved for results."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def execute(request: Request) -> int:
    """Runs the job, prints its result, and returns the exit code."""
    settings = request.settings
    with ExitStack() as stack, placed_in(request.file):
        try:
            _create_folder(settings.checkpoint)
            stack.enter_context(locked(settings.checkpoint))
        except OSError as error:
            raise not_writable(error.strerror or str(error), settings.checkpoint) from None
        if request.fresh:
            remove_outputs(request.job, settings)
        for line in record_versions(settings.checkpoint, request.datasets):
            request.say(line)
        job = _validate(request.job, settings)
        if job.pipelines != request.job.pipelines:
            names = [each.name for each in request.job.pipelines if each not in job.pipelines]
            request.say(f"Skipped, because an earlier run ended their input: {', '.join(names)}.")
            request = replace(request, job=job)
        for line in summarize_run(request.job, settings):
            request.say(line)
        for line in request.datasets.lines():
            request.say(f"dataset     {line}")
        for line in describe_resumed_changes(request.job, settings):
            request.say(line)
        if request.as_json:
            # A console sink prints to stdout, which is reserved for the JSON result.
            stack.enter_context(redirect_stdout(sys.stderr))
        return _run(request, stack)


def _run(request: Request, stack: ExitStack) -> int:
    log = request.log or request.settings.checkpoint / "spark.log"
    before = active_session()

    def start() -> SparkSession:
        settings = request.settings
        ends = settings.once or settings.flush
        spark = before or session(dict(settings.spark), request.cores, log, ends=ends)
        if any(
            choose_query_engine(each)[0] is Engine.COLUMNAR
            for each in group_into_queries(request.job)
        ):
            warm(spark)
        return spark

    runner = Runner(request.job, request.settings, start, log)
    with Signals() as signals:
        _wait(request, runner, signals)
        stack.close()
        errors = [each.in_file(str(request.file)) for each in _errors(runner, signals)]
        running = runner.run.running if runner.run else []
        if request.as_json:
            fail.print_json(as_data(request, runner.run, errors))
        elif not request.quiet:
            show(request, running)
        for error in errors:
            fail.show(error)
        if runner.run is not None and errors:
            for line in after_failure(runner.run):
                request.say(line)
        if before is None and runner.run is not None:
            with suppress(Exception):  # its JVM may have ended, which is reported by then
                runner.run.spark.stop()
    if errors:
        return fail.exit_code(errors[0])
    if any(each.ledger_store.ledger.errors for each in running):
        return 1
    return fail.INTERRUPTED if signals.received is SIGINT else 0


def _errors(runner: Runner, signals: Signals) -> list[MillstreamError]:
    """Returns the errors of failed queries, or the error of the run as a whole."""
    failures = list(runner.run.failures.values()) if runner.run else []
    error = runner.error
    if error is None or error in failures or signals.received is not None:
        return failures
    return [error if isinstance(error, MillstreamError) else fail.bug(error)]


def _wait(request: Request, runner: Runner, signals: Signals) -> None:
    """Shows progress until the run has completed or a signal requests a stop."""
    display = _display(request)
    warned = 0
    runner.start()
    try:
        while not runner.done(_POLL) and signals.received is None:
            display.update(runner.phase, _progress(runner))
            warned = _warn(runner, display, warned)
    finally:
        _warn(runner, display, warned)
        display.close()
    if signals.received is not None:
        request.say("Stopping. The next run repeats a batch that is not complete.")
        runner.stop()
        request.say(f"Stopped. The next run resumes from {shown(request.settings.checkpoint)}.")


def _warn(runner: Runner, display: Display, shown: int) -> int:
    """Shows the warnings after the first `shown`; returns the number of warnings."""
    warnings = runner.run.warnings if runner.run else []
    for text in warnings[shown:]:
        display.warn(text)
    return len(warnings)


def _progress(runner: Runner) -> list[Progress]:
    running = runner.run.healthy() if runner.run else []
    with suppress(Py4JError, PySparkException, OSError):
        return [progress_of(each) for each in running]
    return []  # the JVM does not respond; the thread of the run reports the cause


def _display(request: Request) -> Display:
    if request.quiet:
        return NoDisplay()
    console = Console(stderr=True)
    return LiveTable(console) if console.is_terminal else Lines(sys.stderr)


def _create_folder(checkpoint: Path) -> None:
    """Creates the checkpoint folder; the default folder gets a .gitignore."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    ignore = checkpoint.parent / ".gitignore"
    if checkpoint.parent.name == FOLDER and not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


def _validate(job: Job, settings: RunSettings) -> Job:
    """Rejects invalid requests before Spark is started. Returns the job without queries whose
    input an earlier run ended, if this run can complete other queries."""
    ended: list[Query] = []
    pending: list[Query] = []
    for query in group_into_queries(job):
        folder = Checkpoint(settings.checkpoint / query.name)
        folder.check(query, job.sinks)
        if not query_operators(query):
            continue
        said = has_ended(folder.control) and not settings.flush
        (ended if folder.ended or said else pending).append(query)
    if ended and not (pending and settings.flush):
        names = ", ".join(each.title for each in pending)
        raise StateError(
            "MS-STATE-ENDED",
            "an earlier run with --flush ended the input of "
            f"{shown(settings.checkpoint / ended[0].name)}, so all new rows would be late.",
            fix=(f"Add --flush to complete {names}. Or add" if names else "Add")
            + " --fresh to start again from the beginning, or use another --checkpoint. Use "
            "--flush only in the last run of a job.",
        )
    reject_foreign_files(job, settings)
    done = [output for query in ended for output in query.outputs]
    return replace(job, pipelines=tuple(each for each in job.pipelines if each not in done))
