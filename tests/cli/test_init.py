"""A new project can be planned, run and tested as it is."""

from __future__ import annotations

from tests.cli.jobs import command

import millstream as ms
from millstream.plan.build.job import build_job
from millstream.testing.load import load


def test_init_writes_a_project_that_can_be_planned(tmp_path):
    folder = tmp_path / "shop"
    done = command("init", folder)
    assert done.exit_code == 0
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == {
        ".gitignore",
        "README.md",
        "data/orders/2026-03-01.csv",
        "data/shipments/2026-03-01.csv",
        "job.sql",
        "tests/shipped.test.yaml",
    }
    assert all(f"wrote {folder / name}" in done.stdout for name in written)
    build_job((folder / "job.sql").read_text())
    assert len(load([folder])) == 1


def test_init_rejects_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = command("init", tmp_path)
    assert done.exit_code == 2
    assert done.stderr == (
        f"MS-CLI-INIT\ncannot create a project in {tmp_path}, because it is not empty.\n"
        "Fix: Use a new or empty folder.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_init_takes_an_empty_folder(tmp_path):
    assert command("init", tmp_path).exit_code == 0


def test_init_writes_the_month_end_template(tmp_path):
    folder = tmp_path / "books"
    done = command("init", folder, "--template", "month-end")
    assert done.exit_code == 0
    assert "millstream project run month-end --period 2026-01" in done.stdout
    with ms.Catalog.open(tmp_path / "catalog.db") as catalog:
        changes = catalog.apply(folder / "catalog").changes
        assert len(changes) == 3 + 3 + 1  # datasets, periods, the project
        for name, file in (("fx", "fx-1"), ("fx", "fx-2"), ("customers", "customers")):
            catalog.publish(name, folder / f"data/{file}.csv")
