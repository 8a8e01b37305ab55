"""`millstream catalog`: what its commands print, and that mistakes change nothing."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from pathlib import Path

import pytest
from tests.catalog.month_end import DATASETS, PERIODS, write
from tests.cli.jobs import command
from typer.testing import CliRunner, Result

from millstream.catalog.catalog import Catalog
from millstream.cli.main import app

ROWS = "id,currency,amount,_period\n1,EUR,1.00,2026-01\n2,GBP,5.00,2026-01\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with definitions and a file to publish."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MILLSTREAM_CATALOG", raising=False)
    write(tmp_path / "defs")
    (tmp_path / "t.csv").write_text(ROWS)
    return tmp_path


@pytest.fixture
def applied(folder: Path) -> Path:
    assert catalog("apply", "defs", "--yes").exit_code == 0
    return folder


def catalog(*arguments: str) -> Result:
    return command("catalog", *arguments)


def content(folder: Path) -> list[str]:
    """Everything that a catalog contains."""
    with sqlite3.connect(folder / "millstream-catalog.db") as connection:
        return list(connection.iterdump())


def test_apply_shows_a_plan_and_applies_it(folder: Path):
    done = catalog("apply", "defs", "--yes")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "+ dataset transactions",
        "    3 columns, temporal mode period",
        "+ dataset fx",
    ]
    assert lines[-2:] == ["7 to create, 0 to change, 0 unchanged.", "Applied."]
    again = catalog("apply", "defs")
    assert again.stdout == "0 to create, 0 to change, 7 unchanged.\n"


def test_a_dry_run_changes_nothing_and_creates_no_catalog(folder: Path):
    done = catalog("apply", "defs", "--dry-run")
    assert done.exit_code == 0
    assert done.stdout.endswith("7 to create, 0 to change, 0 unchanged.\nNothing was applied.\n")
    assert not (folder / "millstream-catalog.db").exists()


def test_apply_without_a_terminal_needs_yes(folder: Path):
    done = catalog("apply", "defs")
    assert done.exit_code == 2
    assert done.stderr.startswith("MS-CLI-CONFIRM\n")
    assert not (folder / "millstream-catalog.db").exists()


@pytest.mark.parametrize(("answer", "last"), [("y\n", "Applied."), ("n\n", "Nothing was applied.")])
def test_apply_asks_on_a_terminal(folder: Path, monkeypatch, answer: str, last: str):
    monkeypatch.setattr("millstream.cli.catalog.definitions._is_terminal", lambda: True)
    done = CliRunner().invoke(app, ["catalog", "apply", "defs"], input=answer)
    assert done.exit_code == 0
    assert "Apply these changes?" in done.stdout
    assert done.stdout.splitlines()[-1].endswith(last)


def test_a_plan_as_json(folder: Path):
    done = catalog("apply", "defs", "--json", "--yes")
    data = json.loads(done.stdout)
    assert (data["applied"], data["unchanged"], len(data["changes"])) == (True, 0, 7)
    assert data["changes"][0] == {
        "action": "create",
        "kind": "dataset",
        "name": "transactions",
        "details": ["3 columns, temporal mode period"],
    }


def test_publish_prints_the_version(applied: Path):
    done = catalog("publish", "transactions", "t.csv", "--note", "January")
    assert done.exit_code == 0
    first, second = done.stdout.splitlines()
    assert first == f"Published transactions version 1: csv, {applied / 't.csv'}"
    assert re.fullmatch(r"2 rows, 1 file, 65 B, sha256:[0-9a-f]{64}", second)


def test_publishing_twice_is_an_error_that_names_the_version(applied: Path):
    catalog("publish", "transactions", "t.csv")
    before = content(applied)
    done = catalog("publish", "transactions", "t.csv")
    assert done.exit_code == 2
    assert done.stderr.startswith("MS-CATALOG-PUBLISHED\n")
    assert "already published as version 1 of transactions" in done.stderr
    assert content(applied) == before


def test_publishing_from_the_location_of_an_older_version_warns(applied: Path):
    catalog("publish", "transactions", "t.csv")
    (applied / "t.csv").write_text(ROWS + "3,JPY,7.00,2026-01\n")
    done = catalog("publish", "transactions", "t.csv")
    assert done.exit_code == 0
    assert "Warning: version 1 has the same location" in done.stderr


def test_publish_with_options(applied: Path):
    (applied / "t2.csv").write_text(ROWS.replace(",", ";"))
    done = catalog("publish", "transactions", "t2.csv", "--option", "delimiter=;", "--json")
    data = json.loads(done.stdout)
    assert (data["number"], data["row_count"], data["options"]["delimiter"]) == (1, 2, ";")
    wrong = catalog("publish", "transactions", "t2.csv", "--option", "delimiter")
    assert wrong.stderr.startswith("MS-CLI-VALUE\n")


def test_a_duplicate_key_is_rejected_and_changes_nothing(folder: Path):
    table = "main_table: {columns: {id: INT}, key: id, temporal_mode: bitemporal}"
    (folder / "key.yaml").write_text(f"datasets:\n  - name: k\n    {table}\n")
    applied = catalog("apply", "key.yaml", "--yes")
    assert "1 column, temporal mode bitemporal, key id" in applied.stdout
    before = content(folder)
    (folder / "k.csv").write_text(
        "id,_period_from,_period_to\n1,2026-01-01,\n1,2026-02-01,2026-03-01\n"
    )
    done = catalog("publish", "k", "k.csv")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[:3] == [
        "MS-CATALOG-KEY-DUPLICATE",
        "k: intervals [_period_from, _period_to) of the same key (id) overlap:",
        f"  id = 1: [2026-01-01, open) in row 1 and [2026-02-01, 2026-03-01) in row 2 of "
        f"{folder / 'k.csv'}",
    ]
    assert content(folder) == before
    (folder / "k.csv").write_text("id,_period_from,_period_to\n1,2026-01-01,\n")
    assert catalog("publish", "k", "k.csv").exit_code == 0
    assert "table k, temporal mode bitemporal, key id" in catalog("show", "k").stdout
    assert re.search(r"^key +id *$", catalog("show", "k", "--version", "1").stdout, re.MULTILINE)
    (folder / "key.yaml").write_text((folder / "key.yaml").read_text().replace("key: id, ", ""))
    assert "main_table.key: id -> none" in catalog("apply", "key.yaml", "--yes").stdout
    (folder / "k2.csv").write_text("id,_period_from,_period_to\n2,2026-01-01,\n")
    catalog("publish", "k", "k2.csv")
    assert "  key: id -> none" in catalog("diff", "k", "1", "2").stdout.splitlines()


def test_list_shows_datasets_in_pages(applied: Path):
    catalog("publish", "transactions", "t.csv")
    done = catalog("list")
    assert [line.split()[:4] for line in done.stdout.splitlines()[1:]] == [
        ["fx", "active", "bitemporal", "0"],
        ["transactions", "active", "period", "1"],
    ]
    page = catalog("list", "--limit", "1")
    assert page.stdout.splitlines()[-1] == "There are more: --after fx"
    data = json.loads(catalog("list", "--after", "fx", "--limit", "1", "--json").stdout)
    assert [each["name"] for each in data["datasets"]] == ["transactions"]
    assert data["after"] is None


def test_list_shows_periods_and_projects(applied: Path):
    months = catalog("list", "periods", "--level", "month").stdout.splitlines()
    assert [line.split() for line in months[1:]] == [
        ["2026-01", "month", "2026-01-01", "2026-01-31", "2026-Q1"],
        ["2026-02", "month", "2026-02-01", "2026-02-28", "2026-Q1"],
    ]
    assert "month_end  draft   transactions" in catalog("list", "projects").stdout


def test_show_prints_columns_and_versions(applied: Path):
    catalog("publish", "transactions", "t.csv", "--note", "January")
    done = catalog("show", "Transactions").stdout
    assert re.search(r"^transactions  [0-9a-f-]{36}  active$", done, re.MULTILINE)
    assert re.search(r"^_period +string *$", done, re.MULTILINE)
    assert re.search(r"^1 +active +20\d\d-.* 2 +65 B +csv +/.*/t\.csv", done, re.MULTILINE)
    version = catalog("show", "transactions", "--version", "1").stdout
    assert re.search(r"^note +January *$", version, re.MULTILINE)
    assert re.search(r"^content +sha256:[0-9a-f]{64} *$", version, re.MULTILINE)
    data = json.loads(catalog("show", "transactions", "--json").stdout)
    assert data["versions"][0]["row_count"] == 2
    assert "positions" not in data


def test_show_prints_a_project(applied: Path):
    lines = catalog("show", "month_end", "--project").stdout.splitlines()
    assert lines[0] == "month_end  draft, revision 1"
    assert "input transactions, latest version" in lines
    assert (
        "  left join fx (version 2) as fx on "
        "transactions.currency = fx.from_currency AND fx.to_currency = 'USD'"
    ) in lines
    assert "  amount_usd = amount * fx.rate" in lines
    assert lines[-1] == "output out/{period}, parquet"
    done = catalog("show", "Month_End")
    assert done.stderr.splitlines() == [
        "MS-CATALOG-UNKNOWN",
        "there is no dataset Month_End, but a project has this name.",
        "Fix: Show the project: millstream catalog show month_end --project",
    ]


def test_diff_prints_columns_rows_and_files(applied: Path):
    (applied / "v1").mkdir()
    (applied / "v2").mkdir()
    (applied / "v1" / "a.csv").write_text(ROWS)
    (applied / "v1" / "b.csv").write_text(ROWS)
    text = ROWS.replace("_period\n", "_period,note\n").replace("-01\n", "-01,x\n")
    (applied / "v2" / "a.csv").write_text(text)
    (applied / "v2" / "c.csv").write_text(text + "3,JPY,7.00,2026-01,y\n")
    catalog("publish", "transactions", "v1")
    catalog("publish", "transactions", "v2")
    done = catalog("diff", "transactions", "1")
    assert done.stdout.splitlines() == [
        "transactions version 1 -> 2",
        f"  location: {applied / 'v1'} -> {applied / 'v2'}",
        "  + column note string",
        "  rows: 4 -> 5 (+1)",
        f"  bytes: {2 * len(ROWS)} -> {2 * len(text) + 21}",
        "  - file b.csv",
        "  + file c.csv",
        "  ~ file a.csv",
    ]
    data = json.loads(catalog("diff", "transactions", "1", "2", "--json").stdout)
    assert data["changed_files"] == ["a.csv"]


def test_disable_and_enable(applied: Path):
    catalog("publish", "transactions", "t.csv")
    assert catalog("disable", "fx").stdout == "fx is disabled.\n"
    assert "fx" in catalog("list", "--status", "disabled").stdout
    assert catalog("enable", "fx").stdout == "fx is active.\n"
    version = catalog("disable", "transactions", "--version", "1")
    assert version.stdout == "transactions version 1 is disabled.\n"
    with Catalog.open(create=False) as opened:
        assert opened.datasets()[1].latest_version is None


def test_an_export_is_applied_without_changes(applied: Path):
    catalog("disable", "fx")
    before = content(applied)
    assert catalog("export", "backup").stdout == "6 files written to backup.\n"
    assert content(applied) == before
    assert catalog("apply", "backup").stdout == "0 to create, 0 to change, 7 unchanged.\n"
    other = catalog("apply", "backup", "--yes", "--catalog", "other.db")
    assert other.exit_code == 0
    again = catalog("apply", "backup", "--catalog", "other.db")
    assert again.stdout == "0 to create, 0 to change, 7 unchanged.\n"
    with Catalog.open("other.db") as copy, Catalog.open() as original:
        assert copy.dataset("fx") == original.dataset("fx")


def test_migrate_creates_and_confirms(folder: Path):
    created = catalog("migrate", "--catalog", "new.db")
    assert created.stdout == "The tables of new.db are created (version 0001).\n"
    again = catalog("migrate", "--catalog", "new.db")
    assert again.stdout == "The tables of new.db are up to date (version 0001).\n"


CYCLE = (
    "periods:\n  - {identifier: a, level: x, start: 2026-01-01, end: 2026-01-31, parent: b}\n"
    "  - {identifier: b, level: y, start: 2026-01-01, end: 2026-01-31, parent: a}\n"
)
OVERLAP = "periods:\n  - {identifier: x, level: month, start: 2026-01-31, end: 2026-02-02}\n"


@pytest.mark.parametrize(
    ("text", "first_line", "words"),
    [
        ("hello\n", "MS-CATALOG-YAML at bad/f.yaml, line 1, column 1", "not a definition"),
        (
            DATASETS.replace("temporal_mode: period", "temporal_mod: period"),
            "MS-CATALOG-KEY at bad/f.yaml, line 4, column 7",
            "Did you mean temporal_mode?",
        ),
        (CYCLE, "MS-CATALOG-PERIOD-CYCLE at bad/f.yaml, line 2, column 5", "a in b in a"),
        (
            OVERLAP,
            "MS-CATALOG-PERIOD-OVERLAP at bad/f.yaml, line 2, column 5",
            "of the level month",
        ),
        (
            PERIODS.replace("parent: 2026}", "parent: 2027}"),
            "MS-CATALOG-PERIOD at bad/f.yaml, line 3, column 87",
            "the parent 2027",
        ),
    ],
)
def test_a_wrong_definition_is_reported_and_changes_nothing(applied, text, first_line, words):
    before = content(applied)
    # What is right in the same folder is not applied either.
    write(applied / "bad", a=DATASETS.replace("name: fx", "name: other").replace("5a1", "6a1"))
    write(applied / "bad", f=text)
    done = catalog("apply", "bad", "--yes")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[0] == first_line
    assert words in done.stderr
    assert "Traceback" not in done.output
    assert content(applied) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "transactoins"], "MS-CATALOG-UNKNOWN", "Did you mean transactions?"),
        (["show", "month_ned", "--project"], "MS-CATALOG-UNKNOWN", "Did you mean month_end?"),
        (["show", "fx", "--version", "3"], "MS-CATALOG-UNKNOWN", "the dataset fx has no version 3"),
        (["diff", "fx", "1"], "MS-CATALOG-UNKNOWN", "the dataset fx has no version 1"),
        (["disable", "nothing"], "MS-CATALOG-UNKNOWN", "there is no dataset nothing"),
        (["disable", "fx", "--version", "9"], "MS-CATALOG-UNKNOWN", "has no version 9"),
        (["publish", "fx", "none.csv"], "MS-CATALOG-LOCATION", "it does not exist"),
        (["publish", "fx", "t.csv"], "MS-CATALOG-COLUMNS", "has no column from_currency"),
        (["publish", "fx", "t.csv", "--format", "cvs"], "MS-CATALOG-FORMAT", "Did you mean csv?"),
        (["publish", "nothing", "t.csv"], "MS-CATALOG-UNKNOWN", "there is no dataset nothing"),
        (["apply", "none"], "MS-CATALOG-FILE", "none does not exist."),
        (["export", "defs"], "MS-CATALOG-FILE", "defs is not an empty folder."),
        (["list", "--catalog", "no/c.db"], "MS-CATALOG-NONE", "there is no catalog at no/c.db."),
        (
            ["list", "--catalog", "postgresql://u:hunter2@127.0.0.1:9/x"],
            "MS-CATALOG-CONNECT",
            "there is no connection to the catalog postgresql://***@127.0.0.1:9/x",
        ),
        (["list", "--catalog", "mysql://u:hunter2@h/x"], "MS-CATALOG-URL", "mysql://***@h/x"),
    ],
)
def test_a_mistake_is_answered_with_a_code_and_changes_nothing(applied, arguments, code, words):
    before = content(applied)
    done = catalog(*arguments)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[0] == code
    assert words in done.stderr
    assert "hunter2" not in done.output
    assert content(applied) == before
    as_json = catalog(*arguments, "--json")
    assert json.loads(as_json.stdout)["error"]["code"] == code


def test_a_missing_package_is_named(applied: Path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("millstream.catalog.store")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = catalog("list")
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "MS-CATALOG-DRIVER",
        "a catalog needs the package sqlalchemy, which is not installed.",
        "Fix: Run pip install 'millstream[catalog]'.",
    ]


@pytest.mark.parametrize("verb", ["apply", "publish", "list", "show", "diff", "disable", "export"])
def test_the_help_of_the_catalog_shows_each_command(verb: str):
    done = command("catalog", "--help")
    assert f"millstream catalog {verb}" in done.stdout
    assert catalog(verb, "--help").exit_code == 0
