from __future__ import annotations

import pytest
import sqlalchemy as sa
from tests.connectors.database.tables import Database
from tests.services.postgres import USER

ENVIRONMENT = "MILLSTREAM_TEST_PASSWORD"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.service)])
def database(request, tmp_path, monkeypatch):
    """The same tests on two databases; drivers and dialects differ."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/shop.db"
        yield Database(url, {}, sa.create_engine(url))
        return
    server = request.getfixturevalue("postgres")
    server.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    monkeypatch.setenv(ENVIRONMENT, server.password)
    url = server.url.replace("postgresql://", "postgresql+psycopg://")
    made = sa.make_url(url).set(username=USER, password=server.password)
    engine = sa.create_engine(made)
    yield Database(url, {"user": USER, "password.env": ENVIRONMENT}, engine)
    engine.dispose()
