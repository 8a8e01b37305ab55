"""What a run looks like: on a terminal, in a log, as JUnit and as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from millstream.testing.case import Case
from millstream.testing.report import ConsoleReport, JsonReport, JUnitReport, Reports, closing
from millstream.testing.runner import Report, Result

CASE = Case("orders [x] joined", "SELECT 1", Path("t/a.test.yaml"))
DIFF = "out: 1 missing (-), 1 unexpected (+), 0 as expected\n    id\n  - 1\n  + 2"
PASSED = Result(CASE, "columnar", "passed", 1.26)
OTHER = Result(Case("other", "SELECT 1", Path("t/a.test.yaml")), "columnar", "passed", 1.0)
FAILED = Result(CASE, "native", "failed", 0.5, DIFF)
SKIPPED = Result(CASE, "native", "skipped", 0.0, "native has no anti join")


def tell(report: Report, results: list[Result]) -> None:
    for result in results:
        report.start(result.case, result.engine)
        report.done(result)
    report.close(results)


def test_plain_lines_where_there_is_no_terminal():
    out = io.StringIO()
    tell(ConsoleReport(Console(file=out, width=30)), [PASSED, FAILED, SKIPPED])
    assert out.getvalue().splitlines() == [
        "PASS  orders [x] joined [columnar] 1.3s",
        "FAIL  orders [x] joined [native] 0.5s",
        "      t/a.test.yaml",
        "      out: 1 missing (-), 1 unexpected (+), 0 as expected",
        "          id",
        "        - 1",
        "        + 2",
        "SKIP  orders [x] joined [native] 0.0s",
        "      native has no anti join",
        "1 case, 3 results on 2 engines: 1 passed, 1 failed, 1 skipped",
    ]


def test_colours_on_a_terminal():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=100)
    tell(ConsoleReport(console), [PASSED, FAILED])
    text = out.getvalue()
    assert "\x1b[32mPASS\x1b[0m" in text
    assert "\x1b[31mFAIL\x1b[0m" in text
    assert "\x1b[31m        - 1\x1b[0m" in text
    assert "\x1b[32m        + 2\x1b[0m" in text
    assert "\x1b[1;31m1 case, 2 results on 2 engines: 1 passed, 1 failed\x1b[0m" in text


@pytest.mark.parametrize(
    ("results", "line"),
    [
        ([PASSED, OTHER], "2 cases on the columnar engine: 2 passed, 0 failed"),
        ([FAILED], "1 case on the native engine: 0 passed, 1 failed"),
        (
            [PASSED, SKIPPED, OTHER],
            "2 cases, 3 results on 2 engines: 2 passed, 0 failed, 1 skipped",
        ),
        ([], "no test case ran: none supports this engine"),
    ],
)
def test_the_closing_line(results, line):
    assert closing(results) == line


def test_junit(tmp_path):
    path = tmp_path / "reports" / "junit.xml"
    tell(JUnitReport(path), [PASSED, FAILED, SKIPPED])
    root = ET.parse(path).getroot()
    [suite] = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert suite.get("time") == "1.760"
    passed, failed, skipped = suite
    assert (passed.get("classname"), passed.get("name")) == (
        "t/a.test.yaml",
        "orders [x] joined [columnar]",
    )
    assert list(passed) == []
    assert failed[0].tag == "failure"
    assert failed[0].get("message") == "out: 1 missing (-), 1 unexpected (+), 0 as expected"
    assert failed[0].text == DIFF
    assert (skipped[0].tag, skipped[0].get("message")) == ("skipped", "native has no anti join")


def test_junit_with_characters_that_xml_forbids(tmp_path):
    path = tmp_path / "junit.xml"
    tell(JUnitReport(path), [Result(CASE, "native", "failed", 0, "a\x00b <&> \ud800")])
    assert ET.parse(path).getroot()[0][0][0].text == "a?b <&> ?"
    named = replace(CASE, name="a\x1b[1m", path=Path("t\udcff.yaml"))
    tell(JUnitReport(path), [Result(named, "native", "passed", 0)])
    case = ET.parse(path).getroot()[0][0]
    assert (case.get("name"), case.get("classname")) == ("a?[1m [native]", "t?.yaml")


def test_json():
    out = io.StringIO()
    tell(JsonReport(out), [PASSED, FAILED])
    data = json.loads(out.getvalue())
    assert (data["passed"], data["failed"], data["skipped"]) == (1, 1, 0)
    assert data["cases_run"] == 1
    assert data["cases"][1] == {
        "name": "orders [x] joined",
        "file": "t/a.test.yaml",
        "engine": "native",
        "verdict": "failed",
        "seconds": 0.5,
        "detail": DIFF,
    }


def test_several_reports_hear_the_same(tmp_path):
    out, path = io.StringIO(), tmp_path / "junit.xml"
    tell(Reports(JsonReport(out), JUnitReport(path)), [PASSED])
    assert json.loads(out.getvalue())["passed"] == 1
    assert path.exists()
