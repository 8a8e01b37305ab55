"""Opens the lookups of a database, if SQLAlchemy is installed; executors call it, too."""

from __future__ import annotations

from importlib.util import find_spec

from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import Store
from millstream.errors import RunError


def open_store(spec: LookupSpec) -> Store:
    if find_spec("sqlalchemy") is None:
        raise RunError(
            "MS-RUN-DATABASE-DRIVER",
            f"table {spec.table} is in a database, and SQLAlchemy is not installed.",
            fix="Add it, and the driver of the database: pip install 'millstream[database]'.",
        )
    from millstream.connectors.database.lookup import DatabaseStore

    return DatabaseStore(spec)
