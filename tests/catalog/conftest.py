"""Catalogs for tests: a SQLite file, a schema of a real PostgreSQL, and the month-end example."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.postgres import USER, postgres

from millstream.catalog.store.catalog_url import parse_catalog_url
from millstream.catalog.store.database import connect
from millstream.catalog.store.migrate import migrate
from millstream.catalog.store.open import OpenCatalog, open_catalog

if TYPE_CHECKING:
    from tests.catalog.execution.month_end import MonthEnd

__all__ = ["postgres"]

BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.service)]


@pytest.fixture(params=BOTH)
def catalog_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty catalog."""
    if request.param == "sqlite":
        url = str(tmp_path / "catalog.db")
    else:
        server = request.getfixturevalue("postgres")
        schema = f"catalog_{secrets.token_hex(8)}"
        server.run(f"CREATE SCHEMA {schema}")
        url = (
            f"postgresql://{USER}:{server.password}@127.0.0.1:{server.port}/postgres"
            f"?options=-csearch_path%3D{schema}"
        )
    database = connect(parse_catalog_url(url))
    migrate(database)
    database.close()
    return url


@pytest.fixture
def catalog(catalog_url: str) -> Iterator[OpenCatalog]:
    opened = open_catalog(catalog_url)
    yield opened
    opened.close()


@pytest.fixture
def month_end(tmp_path: Path) -> MonthEnd:
    """The example in a SQLite catalog."""
    from tests.catalog.execution.month_end import MonthEnd  # needs Spark

    return MonthEnd.create(open_catalog(tmp_path / "catalog.db", create=True), tmp_path)
