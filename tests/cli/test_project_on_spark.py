"""`millstream project` on the month-end template, as its README says."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.cli.jobs import command
from typer.testing import Result

FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def books(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of the template, in which commands are run."""
    folder = tmp_path / "books"
    done = command("init", folder, "--template", "month-end")
    assert done.exit_code == 0, done.output
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MILLSTREAM_CATALOG", raising=False)
    return folder


def run(line: str, exit_code: int = 0) -> Result:
    done = command(*line.split())
    assert done.exit_code == exit_code, done.output
    return done


def publish(*names: str) -> None:
    run("catalog apply catalog --yes")
    for name in names:
        run(f"catalog publish {name}")


ALL = ("transactions data/transactions.csv", "fx data/fx-1.csv", "customers data/customers.csv")


def usd(folder: Path) -> list[str]:
    rows = pq.read_table(folder / "out" / "2026-01").to_pylist()
    return [str(row["usd"]) for row in sorted(rows, key=lambda row: row["id"])]


def test_the_readme_of_the_template_says_what_happens(books: Path) -> None:
    before, corrected, replayed = (
        [line.removeprefix("millstream ") for line in block.splitlines() if line]
        for block in FENCE.findall((books / "README.md").read_text())
    )
    *_, done = [run(line) for line in before]
    assert "month-end, 2026-01, 4 rows" in done.stdout
    assert "c        customers v1 (project_override)" in done.stdout
    assert usd(books) == ["108.00", "63.50", "68.00", "21.60"]
    (first,) = runs()
    *_, done = [run(line) for line in corrected]
    assert "fx       fx v2 (system_default)" in done.stdout
    assert usd(books) == ["110.00", "63.50", "68.00", "22.00"]
    listed, replay = replayed
    assert first["id"] in run(listed).stdout
    again = run(replay.replace("RUN", first["id"])).stdout
    same = f"The result is the same as that of the run {first['id']}. No output was written.\n"
    assert again.endswith(same)
    assert "output" not in again.removesuffix(same)
    assert usd(books) == ["110.00", "63.50", "68.00", "22.00"]


def runs() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("project runs --json").stdout)["runs"]
    return found


def test_problems_are_shown_with_their_places_in_yaml(books: Path) -> None:
    path = books / "catalog" / "month-end.yaml"
    text = path.read_text()
    wrong = text.replace("fx.rate AS", "fx.rte AS").replace("= c.id", "= c.idd")
    path.write_text(wrong)
    publish(*ALL)
    done = run("project activate month-end", exit_code=2)
    condition, assignment = "transactions.customer = c.idd", "fx.rte AS"
    for found, column in ((condition, "c.idd"), (assignment, "fx.rte")):
        line = next(number for number, each in enumerate(wrong.splitlines(), 1) if found in each)
        at = wrong.splitlines()[line - 1].index(column) + 1
        assert f"catalog/month-end.yaml, line {line}, column {at}\n" in done.stderr
    assert "Unknown column 'c.idd' in join condition\nFix: Did you mean c.id?" in done.stderr
    assert "Unknown column 'fx.rte' in assignment expression" in done.stderr
    assert done.stderr.endswith("MS-PROJECT-INVALID: 2 problems.\n")
    data = json.loads(run("project activate month-end --json", exit_code=2).stdout)
    assert [each["code"] for each in data["error"]["problems"]] == [
        "MS-PROJECT-CONDITION-COLUMN",
        "MS-PROJECT-ASSIGNMENT-COLUMN",
    ]
    done = run("project run month-end --period 2026-01", exit_code=2)
    assert done.stderr.startswith("MS-PROJECT-DRAFT\n")
    path.write_text(text)
    run("catalog apply catalog --yes")
    assert run("project activate month-end").stdout == "month-end is active.\n"


def test_a_failed_run_ends_with_1_and_its_reason_is_listed(books: Path) -> None:
    publish(*ALL)
    run("project activate month-end")
    (books / "crm" / "2026-01.csv").unlink()
    done = run("project run month-end --period 2026-01", exit_code=2)
    assert done.stderr.startswith("MS-CATALOG-LOCATION\ncustomers v1, resolver path: ")
    (failed,) = runs()
    assert (failed["status"], failed["failure"]["code"]) == ("failed", "MS-CATALOG-LOCATION")
    assert "MS-CATALOG-LOCATION" in run("project runs month-end").stdout
    (books / "data" / "fx-1.csv").write_text("from_currency,to_currency,rate,_period\n")
    done = run("project run month-end --period 2026-02 --json", exit_code=1)
    assert json.loads(done.stdout)["error"]["code"] == "MS-PROJECT-FILE-CHANGED"
    done = run("project replay nonsense", exit_code=2)
    assert done.stderr.startswith("MS-PROJECT-RUN-UNKNOWN\n")


def test_a_run_that_is_terminated_is_recorded_as_failed_and_leaves_no_files(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(*ALL)
    run("project activate month-end")
    monkeypatch.setattr(
        "millstream.catalog.execution.runner.replace_output",
        lambda *_: os.kill(os.getpid(), signal.SIGTERM),
    )
    done = run("project run month-end --period 2026-01", exit_code=130)
    assert done.stderr.endswith("Interrupted. A run that had not ended is recorded as failed.\n")
    (only,) = runs()
    assert (only["status"], only["failure"]["message"]) == ("failed", "The run was interrupted.")
    assert list((books / "out").iterdir()) == []
