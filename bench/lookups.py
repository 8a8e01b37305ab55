"""A PostgreSQL of its own to look users up in, on loopback, gone when the benchmark is over."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.postgres import USER, Postgres


@contextmanager
def database(users: int) -> Iterator[str]:
    """A server with a table of so many users; its address. Who may ask is in the environment, as
    PostgreSQL's own programs have it."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        server = Postgres(Path(folder))
        server.start()
        try:
            server.run(
                "CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT, country TEXT)",
                "INSERT INTO users SELECT n, 'user ' || n, 'country ' || n % 200 "
                f"FROM generate_series(0, {users - 1}) AS n",
                "ANALYZE users",
            )
            os.environ |= {"PGUSER": USER, "PGPASSWORD": server.password}
            yield server.url
        finally:
            server.stop()
