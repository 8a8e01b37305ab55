"""YAML becomes definitions with positions; mistakes are errors with file, line and column."""

from __future__ import annotations

import tempfile
from datetime import date
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.month_end import DATASETS, PERIODS, PROJECTS, write

from millstream.catalog.definitions.load import load_definitions
from millstream.catalog.definitions.plan import plan_changes
from millstream.catalog.model import (
    Assignment,
    Cardinality,
    Column,
    Definitions,
    Period,
    Project,
    ProjectInput,
    ProjectOutput,
    ProjectOverride,
    ResolverRef,
    RuntimeJoin,
    Table,
    TemporalMode,
    UpdateOperation,
)
from millstream.error_codes import CODES
from millstream.errors import CatalogError, Place

FX = UUID("5a1de2ce-70f1-4bb4-8b8c-0a3f4c4f8a01")


def test_datasets_are_loaded(tmp_path: Path):
    transactions, fx = load_definitions(write(tmp_path)).datasets
    assert (transactions.name, transactions.id, transactions.status) == ("transactions", None, None)
    assert transactions.table == Table(
        "transactions",
        (Column("id", "bigint"), Column("currency", "string"), Column("amount", "decimal(18,2)")),
        TemporalMode.PERIOD,
    )
    assert (fx.id, fx.description, fx.table.name) == (FX, "Rates of the central bank", "rates")
    assert fx.resolver == ResolverRef("path", {"template": "data/{name}/v{version}.parquet"})


@pytest.mark.parametrize("written", ["x", "[X]", "['x']"])
def test_a_key_is_a_column_or_a_list_of_columns(tmp_path: Path, written: str):
    text = ONE.replace("}}", "}, key: " + written + "}")
    (dataset,) = load_definitions(write(tmp_path, f=text)).datasets
    assert dataset.table.key == ("x",)


def test_periods_are_loaded_whatever_yaml_makes_of_their_identifiers(tmp_path: Path):
    year, quarter, january, _ = load_definitions(write(tmp_path)).periods
    assert year == Period("2026", date(2026, 1, 1), date(2026, 12, 31), "year")
    assert quarter.parent == "2026"
    assert january == Period("2026-01", date(2026, 1, 1), date(2026, 1, 31), "month", "2026-Q1")


def test_projects_are_loaded(tmp_path: Path):
    (project,) = load_definitions(write(tmp_path)).projects
    condition = "transactions.currency = fx.from_currency AND fx.to_currency = 'USD'"
    join = RuntimeJoin("fx", "fx", condition, 2, expected_cardinality=Cardinality.MANY_TO_ONE)
    assert project == Project(
        "month_end",
        ProjectInput("transactions"),
        ProjectOutput("out/{period}"),
        (UpdateOperation((join,), (Assignment("amount_usd", "amount\n  * fx.rate\n"),)),),
        (
            ProjectOverride("customers", ResolverRef("catalog")),
            ProjectOverride(FX, ResolverRef("path", {"template": "other/{version}.csv"})),
        ),
    )


def test_definitions_and_their_values_have_positions(tmp_path: Path):
    (project,) = load_definitions(write(tmp_path, projects=PROJECTS)).projects
    file = str(tmp_path / "projects.yaml")
    lines = PROJECTS.splitlines()
    join, assignment = project.operations[0].joins[0], project.operations[0].assignments[0]
    on = join.positions.of("on")
    assert on == Place(11, 20, file=file)
    assert lines[10][19:].startswith("transactions.currency")
    assert assignment.positions.of("expression") == Place(16, 17, file=file)
    assert lines[15][16:] == "amount"
    assert join.positions.start == Place(8, 15, file=file)
    assert project.positions.of("name") == Place(2, 11, file=file)
    assert project.resolver_overrides[0].positions.start == Place(19, 7, file=file)


def test_a_file_may_have_several_documents_and_a_folder_subfolders(tmp_path: Path):
    text = "datasets:\n  - {name: a, main_table: {columns: {x: INT}}}\n---\nperiods:\n"
    write(tmp_path / "sub" / "deeper", one=text)
    write(tmp_path / ".git", hidden="not a definition")
    (tmp_path / "job.test.yaml").write_text("name: a test")
    assert [each.name for each in load_definitions(tmp_path).datasets] == ["a"]


TABLE = "main_table: {columns: {x: INT}}"
ONE = f"datasets:\n  - name: a\n    {TABLE}\n"
PROJECT = "projects:\n  - name: p\n    input: a\n    output: out\n"
JOIN = (
    PROJECT + "    operations:\n      - type: update\n        arguments:\n          joins:\n"
    "            - {alias: fx, ON: x}\n"
)


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"),
    [
        ("- a list\n", "MS-CATALOG-YAML", 1, 1, "this is not a definition"),
        ("just text\n", "MS-CATALOG-YAML", 1, 1, "Begin with datasets:, periods: or projects:."),
        ("a: [1\n", "MS-CATALOG-YAML", 2, 1, "Correct what is before this place"),
        ("a:\n\t- 1\n", "MS-CATALOG-YAML", 2, 1, "Indent with spaces, not with tabs."),
        ("dataset:\n  - a\n", "MS-CATALOG-KEY", 1, 1, "Did you mean datasets?"),
        (ONE + "    nme: b\n", "MS-CATALOG-KEY", 4, 5, "'nme' is unknown here. Did you mean name?"),
        (ONE + "    name: b\n", "MS-CATALOG-DUPLICATE", 4, 5, "'name' is repeated"),
        (
            ONE.replace("x: INT", "x: INT, X: INT"),
            *("MS-CATALOG-VALUE", 3, 18),
            "datasets[1].main_table.columns: the column X differs from another only in letter case",
        ),
        (
            ONE.replace("INT", "INTT"),
            *("MS-CATALOG-VALUE", 3, 28),
            "datasets[1].main_table.columns.x: 'INTT' is not a type. Known: boolean",
        ),
        (
            ONE.replace("x: INT", "_period: STRING"),
            *("MS-CATALOG-VALUE", 3, 18),
            "_period is added by the temporal mode",
        ),
        (
            ONE.replace("}}", "}, key: [y]}"),
            *("MS-CATALOG-VALUE", 3, 37),
            "datasets[1].main_table.key: y is not a column. Known: x.",
        ),
        (ONE.replace("}}", "}, key: [x, X]}"), "MS-CATALOG-VALUE", 3, 37, "key: x is named twice"),
        (
            ONE.replace("}}", "}, key: [_period]}"),
            *("MS-CATALOG-VALUE", 3, 37),
            "key: _period is added to the key by the temporal mode",
        ),
        (
            ONE.replace("INT}}", "ARRAY<INT>}, key: x}").replace(
                "x: ARRAY<INT>", "x: 'ARRAY<INT>'"
            ),
            *("MS-CATALOG-VALUE", 3, 46),
            "key: x is array<int>, which cannot be part of a key",
        ),
        (ONE.replace("name: a", "name: a-b"), "MS-CATALOG-VALUE", 2, 5, "'a-b' is not a name"),
        (ONE + "    id: 12\n", "MS-CATALOG-VALUE", 4, 5, "datasets[1].id"),
        (ONE + "    status: off\n", "MS-CATALOG-VALUE", 4, 5, "'active' or 'disabled'"),
        (
            ONE.replace("{columns", "{temporal_mode: monthly, columns"),
            *("MS-CATALOG-VALUE", 3, 18),
            "'none', 'period' or 'bitemporal'",
        ),
        ("datasets:\n  - name: a\n", "MS-CATALOG-VALUE", 2, 5, "datasets[1] has no key 'main_tabl"),
        (
            "datasets: {name: a}\n",
            *("MS-CATALOG-VALUE", 1, 1),
            "datasets is a mapping. It must be a list.",
        ),
        (ONE + "    description: [a]\n", "MS-CATALOG-VALUE", 4, 5, "is a list. It must be a text."),
        (
            ONE + "    resolver: {name: jdbc, config: 'postgresql://u:hunter2@db/x'}\n",
            *("MS-CATALOG-VALUE", 4, 28),
            "config is not an accepted value. It must be a mapping.",
        ),
        (
            ONE + "    resolver: {name: jdbc, config: {url: 'postgresql://u:hunter2@db/x'}}\n",
            *("MS-CATALOG-VALUE", 4, 37),
            "it contains a password, and a catalog stores no secrets",
        ),
        (
            ONE + "    resolver: {name: jdbc, config: {password: hunter2}}\n",
            *("MS-CATALOG-VALUE", 4, 28),
            "password is a secret",
        ),
        (
            "periods:\n  - {identifier: a, start: 2026-02-01, end: 2026-01-01}\n",
            *("MS-CATALOG-VALUE", 2, 5),
            "it ends on 2026-01-01, before it starts on 2026-02-01",
        ),
        (
            "periods:\n  - {identifier: a, start: 2026-02-30, end: 2026-03-01}\n",
            *("MS-CATALOG-VALUE", 2, 28),
            "is not a valid time",
        ),
        (
            "periods:\n  - {identifier: ../a, start: 2026-02-01, end: 2026-03-01}\n",
            *("MS-CATALOG-VALUE", 2, 6),
            "periods[1].identifier: '../a' is not an identifier. Use letters, digits,",
        ),
        (
            PROJECT.replace("input: a", "input: {dataset_version: 1}"),
            *("MS-CATALOG-VALUE", 3, 5),
            "it has neither of the keys dataset and dataset_id. Name the dataset",
        ),
        (
            PROJECT.replace("input: a", "input: {dataset: a, dataset_version: 0}"),
            *("MS-CATALOG-VALUE", 3, 25),
            "dataset_version is 0. It must be greater than or equal to 1.",
        ),
        (
            PROJECT.replace("name: p", "name: 2p"),
            *("MS-CATALOG-VALUE", 2, 5),
            "'2p' is not the name of a project. Use letters, digits, _ and -",
        ),
        (JOIN, "MS-CATALOG-KEY", 9, 27, "Did you mean on?"),
        (
            PROJECT + "    operations:\n      - type: delete\n        arguments: {}\n",
            *("MS-CATALOG-VALUE", 6, 9),
            "projects[1].operations[1].type is 'delete'. It must be 'update'.",
        ),
        (
            PROJECT.replace("output: out", "output: {location: out, format: jdbc}"),
            *("MS-CATALOG-VALUE", 4, 29),
            "a result cannot be written as jdbc. Use parquet, csv or json.",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path, text, code, line, column, words):
    with pytest.raises(CatalogError) as error:
        load_definitions(write(tmp_path, f=text))
    found = error.value
    assert found.code == code, str(found)
    assert words in f"{found.cause} {found.fix}"
    assert found.fix
    assert found.place == Place(line, column, file=str(tmp_path / "f.yaml"))
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    "day",
    ["0", "20260201", "1.5", "'0'", "'20260201'", "2026-02-01T00:00:00", "true", "[]", "soon"],
)
@pytest.mark.parametrize("key", ["start", "end"])
def test_the_days_of_a_period_are_dates(tmp_path: Path, key, day):
    days = {"start": "2026-02-01", "end": "'2026-02-28'"} | {key: day}
    text = f"periods:\n  - identifier: a\n    start: {days['start']}\n    end: {days['end']}\n"
    with pytest.raises(CatalogError) as error:
        load_definitions(write(tmp_path, f=text))
    assert error.value.code == "MS-CATALOG-VALUE"
    assert error.value.cause.startswith(f"periods[1].{key}: ")
    assert error.value.cause.endswith(" is not a day.")
    assert error.value.fix == "Write it as YYYY-MM-DD, such as 2026-01-31."
    assert error.value.place is not None
    assert error.value.place.line == (3 if key == "start" else 4)


def test_the_days_of_a_period_may_be_texts(tmp_path: Path):
    text = "periods:\n  - {identifier: a, start: '2026-02-01', end: 2026-02-28}\n"
    (period,) = load_definitions(write(tmp_path, f=text)).periods
    assert (period.start, period.end) == (date(2026, 2, 1), date(2026, 2, 28))


def test_a_definition_that_is_written_twice_names_both_places(tmp_path: Path):
    write(tmp_path, a=ONE, b=ONE.replace("name: a", "name: A"))
    with pytest.raises(CatalogError) as error:
        load_definitions(tmp_path)
    assert error.value.code == "MS-CATALOG-DUPLICATE"
    assert error.value.cause == (
        f"the dataset A is defined twice; first at {tmp_path / 'a.yaml'}, line 2, column 5."
    )
    assert error.value.place == Place(2, 5, file=str(tmp_path / "b.yaml"))


def test_two_datasets_cannot_have_one_id(tmp_path: Path):
    text = ONE + f"    id: {FX}\n"
    write(tmp_path, a=text, b=text.replace("name: a", "name: b"))
    with pytest.raises(CatalogError, match=f"the dataset {FX} is defined twice"):
        load_definitions(tmp_path)


def _binary(folder: Path) -> Path:
    (folder / "a.yaml").write_bytes(b"\xff\xfe\x00")
    return folder


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "none", "none does not exist."),
        (lambda folder: folder, "there is no file of definitions below"),
        (_binary, "cannot be read: it is not UTF-8"),
    ],
)
def test_files_that_cannot_be_read_are_reported(tmp_path: Path, make, words):
    with pytest.raises(CatalogError, match=words) as error:
        load_definitions(make(tmp_path))
    assert error.value.code == "MS-CATALOG-FILE"


def test_keys_that_yaml_takes_for_numbers_are_text(tmp_path: Path):
    text = "datasets:\n  - {name: a, main_table: {columns: {1: INT, 2026-01-01: INT, true: INT}}}\n"
    (dataset,) = load_definitions(write(tmp_path, f=text)).datasets
    assert [column.name for column in dataset.table.columns] == ["1", "2026-01-01", "true"]


@given(st.data())
def test_any_damage_of_a_file_is_an_error_with_a_code(data):
    """Pieces are removed, repeated and replaced; what is left is loaded or rejected."""
    text = DATASETS + PERIODS + PROJECTS
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(begin, min(len(text), begin + 30)))
        new = data.draw(st.sampled_from(["", " ", "\n", ":", "- ", "{", "1", "~", "[]", "x: y\n"]))
        text = text[:begin] + new + text[data.draw(st.sampled_from([begin, end])) :]
    with tempfile.TemporaryDirectory() as folder:
        error = _error_of(write(Path(folder), f=text))
    assert error is None or (error.code in CODES and error.cause.endswith("."))


def _error_of(folder: Path) -> CatalogError | None:
    try:
        plan_changes(Definitions(0), load_definitions(folder))
    except CatalogError as error:
        return error
    return None


def test_an_alias_is_a_name(tmp_path: Path):
    folder = write(tmp_path, projects=PROJECTS.replace("alias: fx", "alias: 2fx"))
    with pytest.raises(CatalogError, match=r"'2fx' is not a name\. Use letters, digits and _"):
        load_definitions(folder)
