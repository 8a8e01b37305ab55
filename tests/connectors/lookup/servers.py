"""Lookups on the tests' PostgreSQL."""

from __future__ import annotations

import json
from typing import Any

from tests.connectors.lookup.tables import keys_of, spec_of
from tests.services.postgres import USER, Postgres

from millstream.connectors.lookup.lookups import Lookups
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.postgresql.store import PostgresStore


def spec_on(server: Postgres, **settings: Any) -> LookupSpec:
    login = {"url": server.url, "user": USER, "password": server.password}
    options = login | settings.pop("options", {})
    return spec_of(connector="postgresql", options=options, **settings)


def lookups_on(server: Postgres, **settings: Any) -> Lookups:
    return Lookups(spec_on(server, **settings))


def ask_plan(lookups: Lookups, *keys: Any) -> str:
    """How the database goes about the question for these keys, were the table large."""
    store = lookups._store
    assert isinstance(store, PostgresStore)
    query = store._prepare()
    with store._connections.one() as connection:
        connection.execute("SET enable_seqscan = off")
        text = b"EXPLAIN (FORMAT JSON) " + query.statement.as_bytes(connection)
        found = connection.execute(text, query.parameters(keys_of(lookups, *keys))).fetchone()
    assert found is not None
    return json.dumps(found[0])
