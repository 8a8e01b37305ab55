"""The plan of changes: what is created, changed and left, and what is rejected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.catalog.month_end import DATASETS, PERIODS, PROJECTS, write

from millstream.catalog.definitions.load import load_definitions
from millstream.catalog.definitions.plan import Change, Plan, plan_changes
from millstream.catalog.model import Definitions, ProjectStatus, Status
from millstream.catalog.store.open import OpenCatalog
from millstream.errors import CatalogError


def _plan(folder: Path, current: Definitions | None = None, **files: str) -> Plan:
    return plan_changes(current or Definitions(0), load_definitions(write(folder, **files)))


def _applied(plan: Plan) -> Definitions:
    """The catalog after its first plan."""
    return replace(plan.definitions, revision=plan.definitions.revision + 1)


def test_a_new_catalog_creates_everything(tmp_path: Path):
    plan = _plan(tmp_path)
    assert [(each.action, each.kind, each.name) for each in plan.changes] == [
        ("create", "dataset", "transactions"),
        ("create", "dataset", "fx"),
        ("create", "period", "2026"),
        ("create", "period", "2026-Q1"),
        ("create", "period", "2026-01"),
        ("create", "period", "2026-02"),
        ("create", "project", "month_end"),
    ]
    assert plan.changes[1].details == ("3 columns, temporal mode bitemporal",)
    assert plan.changes[4].details == ("month, 2026-01-01 to 2026-01-31, in 2026-Q1",)
    assert plan.changes[6].details == ("input transactions, 1 operation, 1 join",)


def test_the_same_definitions_change_nothing(tmp_path: Path):
    again = _plan(tmp_path, _applied(_plan(tmp_path)))
    assert (again.changes, again.unchanged, again.stores) == ((), 7, False)


def test_definitions_that_moved_in_their_file_are_stored_silently(tmp_path: Path):
    current = _applied(_plan(tmp_path))
    moved = _plan(tmp_path, current, projects="# a comment\n" + PROJECTS)
    assert (moved.changes, moved.stores) == ((), True)
    (project,) = moved.definitions.projects
    assert project == current.projects[0]
    assert project.positions.start != current.projects[0].positions.start


def test_changes_of_a_dataset_are_listed(tmp_path: Path):
    current = _applied(_plan(tmp_path))
    text = (
        DATASETS.replace("id: BIGINT\n", "id: INT\n")
        .replace("        currency: STRING\n", "        country: STRING\n")
        .replace("temporal_mode: period", "temporal_mode: none")
    )
    plan = _plan(tmp_path, current, datasets=text)
    assert plan.changes == (
        Change(
            "change",
            "dataset",
            "transactions",
            (
                "main_table.temporal_mode: period -> none",
                "- column currency string",
                "~ column id: bigint -> int",
                "+ column country string",
            ),
        ),
    )
    assert plan.definitions.datasets[0].id == current.datasets[0].id


def test_the_key_of_a_dataset_is_listed(tmp_path: Path):
    one = "datasets: [{name: a, main_table: {columns: {x: INT, y: INT}, key: [x, y]}}]\n"
    created = _plan(tmp_path, datasets=one)
    assert created.changes[0].details == ("2 columns, temporal mode none, key x, y",)
    without = one.replace(", key: [x, y]", "")
    changed = _plan(tmp_path, _applied(created), datasets=without)
    assert changed.changes[0].details == ("main_table.key: x, y -> none",)


def test_a_changed_project_is_a_draft_of_the_next_revision(tmp_path: Path):
    current = _applied(_plan(tmp_path))
    active = replace(current.projects[0], status=ProjectStatus.ACTIVE)
    current = replace(current, projects=(active,))
    same = _plan(tmp_path, current)
    assert same.changes == ()
    plan = _plan(tmp_path, current, projects=PROJECTS.replace("* fx.rate", "/ fx.rate"))
    (project,) = plan.definitions.projects
    assert (project.status, project.revision) == (ProjectStatus.DRAFT, 2)
    (change,) = plan.changes
    assert change.details == ("operation 1: assignments", "status: active -> draft")


def test_a_definition_without_status_leaves_a_dataset_disabled(tmp_path: Path):
    current = _applied(_plan(tmp_path))
    disabled = tuple(replace(each, status=Status.DISABLED) for each in current.datasets)
    current = replace(current, datasets=disabled)
    assert _plan(tmp_path, current).changes == ()
    plan = _plan(tmp_path, current, datasets=DATASETS + "    status: active\n")
    assert [each.details for each in plan.changes] == [("status: disabled -> active",)]


def test_a_dataset_is_renamed_by_its_id_and_its_name_is_free_again(tmp_path: Path):
    current = _applied(_plan(tmp_path))
    text = DATASETS.replace("name: fx", "name: rates") + (
        "  - name: fx\n    main_table: {columns: {x: INT}}\n"
    )
    plan = _plan(tmp_path, current, datasets=text)
    assert [(each.action, each.name, each.details) for each in plan.changes] == [
        ("change", "rates", ("name: fx -> rates",)),
        ("create", "fx", ("1 column, temporal mode none",)),
    ]
    renamed, new = plan.definitions.datasets[-2:]
    assert renamed.id == current.datasets[1].id
    assert new.id not in {each.id for each in current.datasets}


def test_a_dataset_cannot_take_the_name_of_another(tmp_path: Path):
    current = _applied(_plan(tmp_path))
    text = "datasets:\n" + DATASETS.partition("  - name: fx")[2]
    text = text.replace("datasets:\n", "datasets:\n  - name: transactions")
    with pytest.raises(CatalogError, match="the name transactions belongs to") as error:
        _plan(tmp_path / "new", current, datasets=text)
    assert error.value.code == "MS-CATALOG-DUPLICATE"
    assert error.value.place is not None
    assert (error.value.place.line, error.value.place.column) == (2, 11)


def test_the_id_of_a_dataset_does_not_change(tmp_path: Path):
    current = _applied(_plan(tmp_path))
    text = DATASETS.replace("5a1de2ce", "00000000")
    with pytest.raises(CatalogError, match="the dataset fx has the ID 5a1de2ce") as error:
        _plan(tmp_path, current, datasets=text)
    assert error.value.code == "MS-CATALOG-CHANGE"


def test_definitions_that_are_no_longer_written_stay(tmp_path: Path):
    current = _applied(_plan(tmp_path))
    plan = _plan(tmp_path / "less", current, periods=PERIODS)
    assert (plan.changes, plan.unchanged) == ((), 4)


def test_a_plan_is_applied_in_one_step(catalog: OpenCatalog, tmp_path: Path):
    plan = _plan(tmp_path, catalog.reader.definitions())
    catalog.writer.apply(plan.definitions)
    stored = catalog.reader.definitions()
    assert set(stored.datasets) == set(plan.definitions.datasets)
    assert set(stored.periods) == set(plan.definitions.periods)
    assert stored.projects == plan.definitions.projects
    assert _plan(tmp_path, stored).changes == ()
