"""The time that versions and leases are stamped with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa

Clock = Callable[[sa.Connection], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def catalog_time(connection: sa.Connection) -> datetime:
    """Returns the time of the PostgreSQL server, so that leases do not depend on the clocks of the
    computers that share it. The processes that share a SQLite file run on one computer."""
    if connection.dialect.name == "sqlite":
        return utc_now()
    now: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return now.astimezone(UTC)
