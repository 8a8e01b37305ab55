"""`millstream test` chooses cases, starts Spark only when needed, and ends with a count."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.cli.jobs import command

import millstream.cli.lazy_runner as lazy

EXAMPLES = Path(__file__).parents[2] / "examples"
REFUSED = len(list((EXAMPLES / "interval_joins").glob("refused_*.test.yaml")))


@pytest.fixture
def no_spark(monkeypatch):
    def refuse(self: object) -> None:
        raise AssertionError("a refused plan needs no Spark")

    monkeypatch.setattr(lazy.LazyRunner, "_session", refuse)


def test_refused_plans_need_no_spark(no_spark):
    done = command("test", EXAMPLES / "interval_joins", "-k", "refused_", "--engine", "columnar")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == f"{REFUSED} passed, 0 failed"


def test_both_engines_are_tried_by_default(no_spark):
    done = command("test", EXAMPLES / "interval_joins", "-k", "REFUSED_")
    assert done.stdout.splitlines()[-1] == f"{2 * REFUSED} passed, 0 failed"


def test_a_failed_case_ends_with_1_and_stands_in_every_report(no_spark, tmp_path):
    case = tmp_path / "a.test.yaml"
    case.write_text("name: a\nsql: SELECT\nerror: MS-PLAN-UNBOUNDED\n")
    junit = tmp_path / "report.xml"
    done = command("test", case, "--engine", "columnar", "--json", "--junit", junit)
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert (report["passed"], report["failed"]) == (0, 1)
    assert ET.parse(junit).getroot().attrib["failures"] == "1"


def test_no_case_with_the_words_is_an_error():
    done = command("test", EXAMPLES, "-k", "no such case")
    assert done.exit_code == 2
    assert done.stderr.startswith("MS-CLI-NO-CASE\n")
