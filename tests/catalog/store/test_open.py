"""Opening a catalog: locations, migrations, databases that cannot be reached."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.catalog.samples import add_dataset
from tests.services.postgres import USER, Postgres

from millstream.catalog.catalog import Catalog
from millstream.catalog.store import database as database_module
from millstream.catalog.store import migrate as migrate_module
from millstream.catalog.store.catalog_url import parse_catalog_url
from millstream.catalog.store.database import connect
from millstream.catalog.store.migrate import migrate
from millstream.catalog.store.open import open_catalog
from millstream.catalog.store.tables import REVISION, VERSION_TABLE, metadata
from millstream.errors import CatalogError

SECRET = "hunter2"


def test_without_a_url_the_catalog_is_a_file_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MILLSTREAM_CATALOG", raising=False)
    open_catalog(create=True).close()
    assert (tmp_path / "millstream-catalog.db").is_file()


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}", "sqlite:{}", "jdbc:sqlite:{}"])
def test_a_sqlite_file_has_several_spellings(tmp_path, form, monkeypatch):
    path = tmp_path / "other.db"
    monkeypatch.setenv("MILLSTREAM_CATALOG", form.format(path))
    open_catalog(create=True).close()
    assert path.is_file()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"mysql://me:{SECRET}@db/shop", "it begins with mysql://"),
        (f"postgresql://me:{SECRET}@db:port/shop", "it cannot be read as a URL"),
        (":memory:", "a catalog is stored in a file"),
        ("sqlite://", "a catalog is stored in a file"),
    ],
)
def test_another_url_is_rejected_without_its_password(url, words):
    with pytest.raises(CatalogError, match=words) as error:
        open_catalog(url)
    assert error.value.code == "MS-CATALOG-URL"
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        f"me:a@{SECRET}@nohost.invalid/shop",
        f"me:a@{SECRET}/b@nohost.invalid/shop",
        f"me:a@{SECRET}?b@nohost.invalid/shop",
        f"{SECRET}@b@nohost.invalid/shop",
        f"me/{SECRET}@nohost.invalid/shop",
    ],
)
def test_a_password_that_is_not_encoded_is_rejected_before_the_driver_shows_it(url):
    with pytest.raises(CatalogError) as error:
        open_catalog(f"postgresql://{url}")
    assert error.value.code == "MS-CATALOG-URL"
    assert "%40" in error.value.fix
    assert SECRET not in str(error.value)


def test_an_encoded_password_is_decoded():
    location = parse_catalog_url("postgresql://me:a%40b%2Fc@db/shop")
    assert (location.url.password, location.url.host) == ("a@b/c", "db")
    assert location.shown == "postgresql://***@db/shop"


def test_a_catalog_that_does_not_exist_is_not_created_by_reading(tmp_path):
    with pytest.raises(CatalogError, match=r"there is no catalog at .*none\.db") as error:
        open_catalog(tmp_path / "none.db")
    assert error.value.code == "MS-CATALOG-NONE"
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_another_program_is_not_made_a_catalog(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE orders (id INT)")
    with pytest.raises(CatalogError, match="there is no catalog at"):
        open_catalog(path, create=True)
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall() == [
        ("orders",)
    ]


def test_a_file_that_is_no_database_is_reported(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    with pytest.raises(CatalogError, match="file is not a database") as error:
        open_catalog(path, create=True)
    assert error.value.code == "MS-CATALOG-DATABASE"


def test_a_folder_that_does_not_exist_is_reported(tmp_path):
    with pytest.raises(
        CatalogError, match=r"the folder .*/no of the catalog does not exist"
    ) as err:
        open_catalog(tmp_path / "no" / "catalog.db", create=True)
    assert err.value.code == "MS-CATALOG-CONNECT"


def test_a_postgresql_that_is_not_running_is_reported_without_the_password():
    url = f"postgresql://me:{SECRET}@127.0.0.1:9/shop"
    with pytest.raises(CatalogError, match="there is no connection to the catalog") as error:
        open_catalog(url)
    assert error.value.code == "MS-CATALOG-CONNECT"
    assert "postgresql://***@127.0.0.1:9/shop" in str(error.value)
    assert SECRET not in str(error.value)
    assert "PGPASSWORD" in error.value.fix


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CatalogError, match="the package psycopg is not installed") as error:
        open_catalog("postgresql://127.0.0.1:9/shop")
    assert error.value.code == "MS-CATALOG-DRIVER"


@pytest.mark.service
def test_a_wrong_password_is_not_shown(postgres: Postgres):
    url = postgres.url.replace("://", f"://millstream:{SECRET}@")
    with pytest.raises(CatalogError, match="password authentication failed") as error:
        open_catalog(url)
    assert error.value.code == "MS-CATALOG-CONNECT"
    assert SECRET not in str(error.value)


@pytest.mark.service
def test_a_postgresql_without_tables_asks_for_a_migration(postgres: Postgres):
    url = postgres.url.replace("://", f"://millstream:{postgres.password}@")
    with pytest.raises(CatalogError, match="there is no catalog at") as error:
        open_catalog(url, create=True)
    assert error.value.code == "MS-CATALOG-NONE"
    assert error.value.fix == "Run millstream catalog migrate once."
    assert postgres.password not in str(error.value)


@pytest.mark.service
@pytest.mark.parametrize("catalog_url", ["postgresql"], indirect=True)
def test_a_server_that_dies_is_reported_and_the_catalog_usable_afterwards(
    catalog_url: str, postgres: Postgres
):
    catalog = open_catalog(catalog_url)
    add_dataset(catalog, "fx")
    postgres.kill()
    with pytest.raises(CatalogError) as error:
        catalog.reader.dataset_names()
    assert error.value.code == "MS-CATALOG-CONNECT"
    postgres.start()
    assert catalog.reader.dataset_names() == ["fx"]
    catalog.close()


def test_a_catalog_that_is_locked_for_too_long_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(database_module, "LOCK_SECONDS", 0.1)
    path = tmp_path / "catalog.db"
    catalog = open_catalog(path, create=True)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CatalogError, match="another process has locked the catalog") as error:
        add_dataset(catalog, "fx")
    assert error.value.code == "MS-CATALOG-BUSY"
    other.execute("ROLLBACK")
    other.close()
    add_dataset(catalog, "fx")


def test_migrations_create_the_tables_that_the_code_uses(catalog_url: str):
    database = connect(parse_catalog_url(catalog_url))
    with database.read_transaction() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        differences = compare_metadata(context, metadata)
    assert differences == []
    database.close()


def test_the_newest_migration_is_the_one_that_the_code_expects():
    folder = Path(migrate_module.__file__).parent / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder))
    assert ScriptDirectory.from_config(config).get_current_head() == REVISION


def test_a_migration_of_a_current_catalog_changes_nothing(catalog_url: str):
    catalog = open_catalog(catalog_url)
    fx = add_dataset(catalog, "fx")
    assert migrate(catalog.database) == (REVISION, REVISION)
    assert catalog.reader.find_dataset("fx") == fx


@pytest.mark.service
def test_the_tables_of_postgresql_are_created_in_python(postgres: Postgres):
    postgres.run("CREATE DATABASE migrated")
    url = f"postgresql://{USER}:{postgres.password}@127.0.0.1:{postgres.port}/migrated"
    with pytest.raises(CatalogError, match="MS-CATALOG-NONE"):
        Catalog.open(url)
    Catalog.migrate(url)
    with Catalog.open(url) as catalog:
        assert catalog.datasets() == []


@pytest.mark.parametrize(
    ("stored", "fix"),
    [("0000", "Run millstream catalog migrate."), ("9999", "Install a newer Millstream.")],
)
def test_the_tables_of_another_version_are_reported(catalog_url: str, stored: str, fix: str):
    database = connect(parse_catalog_url(catalog_url))
    with database.write_transaction() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '{stored}'"))
    with pytest.raises(CatalogError, match=f"are at version {stored}") as error:
        open_catalog(catalog_url)
    assert (error.value.code, error.value.fix) == ("MS-CATALOG-MIGRATION", fix)
    database.close()


def test_a_failed_write_changes_nothing(catalog_url: str):
    catalog = open_catalog(catalog_url)
    add_dataset(catalog, "fx")
    before = catalog.reader.definitions()
    with pytest.raises(CatalogError, match=r"(?i)unique") as error:
        add_dataset(catalog, "FX")
    assert error.value.code == "MS-CATALOG-DATABASE"
    assert catalog.reader.definitions() == before
    catalog.close()


def test_millstream_and_the_values_of_a_catalog_import_no_database():
    code = (
        "import sys, millstream, millstream.catalog.model, millstream.cli.main; "
        "print([name for name in ('sqlalchemy', 'alembic', 'psycopg') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
