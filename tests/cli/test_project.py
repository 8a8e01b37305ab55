"""`millstream project`: what its commands print without running a project."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

from tests.catalog.samples import snapshot
from tests.cli.jobs import command

from millstream.catalog.catalog import Catalog
from millstream.catalog.model import RunFailure


def test_runs_of_an_unknown_project_are_an_error(tmp_path: Path):
    url = tmp_path / "catalog.db"
    Catalog.open(url).close()
    done = command("project", "runs", "month-end", "--catalog", url)
    assert done.exit_code != 0
    assert "MS-CATALOG-UNKNOWN\nthere is no project month-end." in done.stderr


def test_a_run_is_shown_with_what_it_has_read(tmp_path: Path):
    url = tmp_path / "catalog.db"
    with Catalog.open(url) as opened:
        writer = opened.writer
        run = writer.create_run(
            project="month-end", project_revision=2, period="2026-01", owner="a:1", lease_seconds=60
        )
        writer.record_snapshot(run.id, "a:1", snapshot(None))
        writer.fail_run(run.id, "a:1", RunFailure("MS-PROJECT-FILE-CHANGED", "fx.csv has changed."))
    done = command("project", "show", str(run.id), "--catalog", url)
    assert done.exit_code == 0, done.output
    first, *lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert first == f"run {run.id}: month-end revision 2, 2026-01"
    assert lines[0] == "status failed"
    assert lines[3] == "error fx.csv has changed."
    assert lines[5:] == [
        "read as version resolver format location content",
        "input fx v2 path (project_override) csv /data/2 sha256:ab",
        "fx fx v2 path (project_override) csv /data/2 not reproducible",
        "",
        "Spark 4.1.0, Millstream 0.1.0, time zone UTC, ANSI mode",
    ]
    data = json.loads(command("project", "show", str(run.id), "--catalog", url, "--json").stdout)
    assert (data["failure"]["code"], data["period"]) == ("MS-PROJECT-FILE-CHANGED", "2026-01")
    done = command("project", "show", str(uuid4()), "--catalog", url)
    assert "MS-PROJECT-RUN-UNKNOWN\nthere is no run" in done.stderr
