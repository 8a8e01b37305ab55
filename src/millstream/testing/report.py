"""Reports of a test run: on the console, as JUnit XML and as JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from millstream.testing.case import Case, Engine
from millstream.testing.runner import Report, Result

_WORDS = {"passed": "PASS", "failed": "FAIL", "skipped": "SKIP"}
_COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}
_DIFF_COLOURS = {"-": "red", "+": "green"}
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def closing(results: Sequence[Result]) -> str:
    """Summarizes results, such as "3 cases, 5 results on 2 engines: 4 passed, 1 failed"."""
    if not results:
        return "no test case ran: none supports this engine"
    counts = Counter(result.verdict for result in results)
    verdicts = f"{counts['passed']} passed, {counts['failed']} failed"
    if counts["skipped"]:
        verdicts += f", {counts['skipped']} skipped"
    cases = _count(len({id(result.case) for result in results}), "case")
    engines = {result.engine for result in results}
    if len(engines) == 1:
        return f"{cases} on the {next(iter(engines))} engine: {verdicts}"
    return f"{cases}, {_count(len(results), 'result')} on {len(engines)} engines: {verdicts}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class ConsoleReport:
    """A line for each case, the diff under a failure, and a closing line."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None

    def start(self, case: Case, engine: Engine) -> None:
        if self._console.is_terminal:
            self._status = self._console.status(escape(f"{case.name} [{engine}]"))
            self._status.start()

    def done(self, result: Result) -> None:
        if self._status:
            self._status.stop()
            self._status = None
        word, colour = _WORDS[result.verdict], _COLOURS[result.verdict]
        rest = escape(f"{result.case.name} [{result.engine}] {result.seconds:.1f}s")
        self._line(f"[{colour}]{word}[/]  {rest}")
        if result.verdict == "failed":
            self._line(escape(f"      {result.case.path}"))
        for line in result.detail.splitlines():
            colour = _DIFF_COLOURS.get(line[2:3], "") if line.startswith("  ") else ""
            text = escape(f"      {line}")
            self._line(f"[{colour}]{text}[/]" if colour else text)

    def close(self, results: Sequence[Result]) -> None:
        verdicts = {result.verdict for result in results}
        good = "passed" in verdicts and "failed" not in verdicts
        self._line(f"[bold {'green' if good else 'red'}]{closing(results)}[/]")

    def _line(self, text: str) -> None:
        # Rows of a diff are not wrapped, so that they can be copied and searched.
        self._console.print(text, highlight=False, soft_wrap=True)


class _FinalReport:
    """A report that is written after all cases have run."""

    def start(self, case: Case, engine: Engine) -> None: ...
    def done(self, result: Result) -> None: ...


class JsonReport(_FinalReport):
    """Writes one JSON object."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def close(self, results: Sequence[Result]) -> None:
        counts = Counter(result.verdict for result in results)
        data = {
            "passed": counts["passed"],
            "failed": counts["failed"],
            "skipped": counts["skipped"],
            "cases_run": len({id(result.case) for result in results}),
            "cases": [result.as_data() for result in results],
        }
        self._out.write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")


class JUnitReport(_FinalReport):
    """Writes JUnit XML."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def close(self, results: Sequence[Result]) -> None:
        counts = Counter(result.verdict for result in results)
        seconds = f"{sum(result.seconds for result in results):.3f}"
        figures = {
            "tests": str(len(results)),
            "failures": str(counts["failed"]),
            "errors": "0",
            "skipped": str(counts["skipped"]),
            "time": seconds,
        }
        root = ET.Element("testsuites", figures)
        suite = ET.SubElement(root, "testsuite", {"name": "millstream", **figures})
        for result in results:
            suite.append(_junit_case(result))
        ET.indent(root)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        ET.ElementTree(root).write(self._path, encoding="utf-8", xml_declaration=True)


def _junit_case(result: Result) -> ET.Element:
    case = ET.Element(
        "testcase",
        {
            "classname": _NOT_IN_XML.sub("?", result.case.path.as_posix()),
            "name": _NOT_IN_XML.sub("?", f"{result.case.name} [{result.engine}]"),
            "time": f"{result.seconds:.3f}",
        },
    )
    detail = _NOT_IN_XML.sub("?", result.detail)
    if result.verdict == "failed":
        first = detail.splitlines()[0] if detail else "failed"
        ET.SubElement(case, "failure", {"message": first}).text = detail
    if result.verdict == "skipped":
        ET.SubElement(case, "skipped", {"message": detail})
    return case


class Reports:
    """Sends the same events to several reports."""

    def __init__(self, *reports: Report) -> None:
        self._reports = reports

    def start(self, case: Case, engine: Engine) -> None:
        for report in self._reports:
            report.start(case, engine)

    def done(self, result: Result) -> None:
        for report in self._reports:
            report.done(result)

    def close(self, results: Sequence[Result]) -> None:
        for report in self._reports:
            report.close(results)
