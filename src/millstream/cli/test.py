"""`millstream test`: runs test cases in YAML on a local Spark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from millstream.cli.errors import CommandError, reported
from millstream.cli.options import AsJson

if TYPE_CHECKING:
    from millstream.testing.case import Case, Engine

EPILOG = """
Examples:

  millstream test examples

  millstream test tests/late.test.yaml --engine columnar

  millstream test . -k "left join" --junit report.xml

A test case is a file named *.test.yaml with SQL, input rows and the exact expected rows.
"""


class EngineSet(StrEnum):
    columnar = "columnar"
    native = "native"
    all = "all"


def run_tests(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Test files or folders.")],
    engine: Annotated[
        EngineSet, typer.Option("--engine", help="The engine to run on.")
    ] = EngineSet.all,
    words: Annotated[
        str | None,
        typer.Option(
            "-k", metavar="TEXT", help="Run only cases whose name or file contains this text."
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write a JUnit report.")
    ] = None,
    cores: Annotated[int, typer.Option(min=1, help="Cores for Spark.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Run test cases; exit with code 1 if one fails.

    Spark is started for the first case that needs it. Cases that expect an error of planning do not
    need it.
    """
    with reported(as_json):
        from millstream.cli.interrupt import interruptible
        from millstream.testing.load import load

        cases = [case for case in load(paths) if words is None or _has(case, words)]
        if not cases:
            raise CommandError(
                "MS-CLI-NO-CASE",
                f"no test case has {words!r} in its name or file, ignoring letter case.",
                fix="Use another text, or remove -k to run all cases.",
            )
        engines: list[Engine] = ["columnar", "native"]
        if engine is not EngineSet.all:
            engines = ["columnar" if engine is EngineSet.columnar else "native"]
        code = interruptible(lambda: _run(cases, engines, junit, cores, as_json))
        if code:
            raise typer.Exit(code)


def _has(case: Case, words: str) -> bool:
    return words.lower() in f"{case.name}\n{case.path}".lower()


def _run(
    cases: list[Case], engines: list[Engine], junit: Path | None, cores: int, as_json: bool
) -> int:
    import sys

    from rich.console import Console

    from millstream.cli.lazy_runner import LazyRunner
    from millstream.testing.report import ConsoleReport, JsonReport, JUnitReport, Reports
    from millstream.testing.runner import run_cases

    shown = JsonReport(sys.stdout) if as_json else ConsoleReport(Console())
    reports = Reports(shown, *([JUnitReport(junit)] if junit else []))
    with LazyRunner.started(cores) as runner:
        return run_cases(cases, runner, engines, reports)
