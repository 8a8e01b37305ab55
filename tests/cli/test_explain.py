"""`explain` prints the plan, as a tree and as data."""

from __future__ import annotations

import json

from tests.cli.jobs import JOIN, SOURCES, command, project

from millstream.plan.build.job import build_job
from millstream.plan.explain.render import explain, explain_json


def test_explain_prints_what_the_plan_says(tmp_path):
    done = command("explain", project(tmp_path))
    assert done.exit_code == 0
    assert done.stdout == explain(build_job(SOURCES + JOIN))


def test_explain_json_is_the_plan_as_data(tmp_path):
    done = command("explain", project(tmp_path), "--json")
    assert json.loads(done.stdout) == json.loads(
        json.dumps(explain_json(build_job(SOURCES + JOIN)))
    )


def test_engine_overrides_the_job(tmp_path):
    job = project(tmp_path, "SET 'engine' = 'columnar';\n" + SOURCES + JOIN)
    engines = {
        asked: json.loads(command("explain", job, "--engine", asked, "--json").stdout)
        for asked in ("auto", "columnar", "native")
    }
    assert {asked: data["pipelines"][0]["engine"] for asked, data in engines.items()} == {
        "auto": "columnar",
        "columnar": "columnar",
        "native": "native",
    }


def test_an_engine_that_cannot_run_the_job_is_refused(tmp_path):
    job = project(
        tmp_path, SOURCES + JOIN.replace("LEFT JOIN", "LEFT ANTI JOIN").replace(", s.carrier", "")
    )
    done = command("explain", job, "--engine", "native")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"MS-PLAN-ENGINE at {job}, line ")
