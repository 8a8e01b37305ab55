"""The explain document and the identity of every example and NEXMark query.

`MILLSTREAM_GOLDEN=write pytest tests/plan/test_golden_jobs.py` writes what the code gives into
tests/golden/jobs; read the diff before you keep it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench.nexmark.options import Options
from bench.nexmark.suite import QUERIES, job_of
from bench.nexmark.write import Data

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.explain.render import explain_json
from millstream.plan.identity import query_identity
from millstream.plan.nodes import Job
from millstream.testing.case import Case
from millstream.testing.load import load_file
from millstream.testing.sources import case_job

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "jobs"
NEXMARK_DATA = Data(Path("data"), Options(1_000), 1, "parquet")


def _jobs(folder: Path) -> Iterator[tuple[str, Callable[[], Job]]]:
    """The jobs of a folder of examples by a name: its own, or every case of its test files."""
    if (folder / "job.sql").exists():
        yield "job.sql", partial(build_job, (folder / "job.sql").read_text(encoding="utf-8"))
        return
    for file in sorted(folder.rglob("*.test.yaml")):
        for number, case in enumerate(load_file(file)):
            yield f"{file.name}#{number}", partial(_case_job, case)


def _case_job(case: Case) -> Job:
    return case_job(case)


def _identity(job: Job) -> dict[str, Any]:
    return {each.name: query_identity(each) for each in group_into_queries(job)}


DOCUMENTS: dict[str, Callable[[Job], dict[str, Any]]] = {
    "explain": explain_json,
    "identity": _identity,
}


def _check(name: str, given: dict[str, Any]) -> None:
    file = GOLDEN / f"{name}.json"
    if os.environ.get("MILLSTREAM_GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in given.items())
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    expected = json.loads(file.read_text(encoding="utf-8"))
    assert given.keys() == expected.keys()
    for key, value in given.items():
        assert json.loads(json.dumps(value)) == expected[key], key


EXAMPLES = sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir())


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_planned_as_its_golden_file_says(name: str, document: str) -> None:
    described: dict[str, Any] = {}
    for key, job in _jobs(ROOT / "examples" / name):
        try:
            described[key] = DOCUMENTS[document](job())
        except MillstreamError as error:
            described[key] = error.code
    _check(f"{name}.{document}", described)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_nexmark_is_planned_as_its_golden_file_says(document: str) -> None:
    jobs = {
        query.name: job_of(query, NEXMARK_DATA, Path("out"), files=1, engine="auto")
        for query in QUERIES.values()
    }
    _check(f"nexmark.{document}", {name: DOCUMENTS[document](job) for name, job in jobs.items()})
