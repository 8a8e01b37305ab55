"""Alembic runs this file for each command, in the transaction of `migrate`."""

from __future__ import annotations

from alembic import context

from millstream.catalog.store.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
context.run_migrations()
