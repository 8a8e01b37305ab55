"""A run from its checks to its account."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT

from pyspark.sql import SparkSession
from rich.console import Console

from millstream.cli import fail
from millstream.cli.brief import brief
from millstream.cli.display import Display, Lines, LiveTable, Silent
from millstream.cli.interrupt import Signals
from millstream.cli.load import placed_in
from millstream.cli.result import as_data, show
from millstream.cli.words import shown
from millstream.errors import MillstreamError, StateError
from millstream.plan.facts.check import choose_engine
from millstream.plan.nodes import Engine, Job
from millstream.plan.walk import operators_of
from millstream.run.checkpoint import Checkpoint, locked
from millstream.run.destinations import forget, refuse_foreign_files
from millstream.run.drive import Drive
from millstream.run.progress import progress_of
from millstream.run.settings import FOLDER, RunSettings
from millstream.spark.control import has_ended
from millstream.spark.session import active_session, session, warm

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

    def say(self, text: str) -> None:
        """For people: on stderr, so that stdout holds results alone."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def execute(request: Request) -> int:
    """Run, and print what came of it; the exit code."""
    settings = request.settings
    with ExitStack() as held, placed_in(request.file):
        _make(settings.checkpoint)
        held.enter_context(locked(settings.checkpoint))
        if request.fresh:
            forget(request.job, settings)
        _check(request.job, settings)
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
        if any(choose_engine(each)[0] is Engine.COLUMNAR for each in request.job.pipelines):
            warm(spark)
        return spark

    drive = Drive(request.job, request.settings, start, log)
    with Signals() as signals:
        _wait(request, drive, signals)
        error = drive.error
        held.close()
        failed = None
        if error is not None:
            failed = error if isinstance(error, MillstreamError) else fail.bug(error)
            failed = failed.in_file(str(request.file))
        running = drive.run.running if drive.run else []
        if request.as_json:
            fail.print_json(as_data(request, running, failed))
        elif not request.quiet:
            show(request, running)
        if failed is not None:
            fail.show(failed)
        if before is None and drive.run is not None:
            drive.run.spark.stop()
    if failed is not None:
        return fail.exit_code(failed)
    if any(each.tally.account.errors for each in running):
        return 1
    return fail.INTERRUPTED if signals.heard is SIGINT else 0


def _wait(request: Request, drive: Drive, signals: Signals) -> None:
    """Show progress until the run has ended by itself or a signal has ended it."""
    display = _display(request)
    drive.start()
    try:
        while not drive.done(_POLL) and signals.heard is None:
            running = list(drive.run.running) if drive.run else []
            display.update(drive.phase, [progress_of(each) for each in running])
    finally:
        display.close()
    if signals.heard is not None:
        request.say("Stopping. A batch under way is given up and done again by the next run.")
        drive.stop()
        request.say(f"Stopped. To go on, run it again with {shown(request.settings.checkpoint)}.")


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


def _check(job: Job, settings: RunSettings) -> None:
    """What can be refused before Spark is started."""
    for pipeline in job.pipelines:
        folder = Checkpoint(settings.checkpoint / pipeline.name)
        folder.check(pipeline)
        said = has_ended(folder.control) and bool(operators_of(pipeline.root))
        if folder.ended or (said and not settings.flush):
            raise StateError(
                "MS-STATE-ENDED",
                f"an earlier run with --flush ended the input of {shown(folder.folder)}: every row "
                "that came now would be late.",
                fix="Add --fresh to start anew, or name another --checkpoint. Leave --flush out "
                "of runs that shall go on later.",
            )
    refuse_foreign_files(job, settings)
