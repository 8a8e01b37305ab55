"""The tables of a catalog. `migrations/` creates them and changes them."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

REVISION = "0001"
"""The migration that creates these tables; a test compares it with alembic's head."""

VERSION_TABLE = "millstream_catalog_version"

metadata = sa.MetaData()


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC. SQLite stores times without a zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002
    ) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


catalog = sa.Table(
    "millstream_catalog",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    # Increases with every change of a definition or status. See CatalogWriter.apply.
    sa.Column("revision", sa.Integer, nullable=False),
)

datasets = sa.Table(
    "millstream_datasets",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("name_key", sa.Text, nullable=False, unique=True),  # the name in lower case
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("temporal_mode", sa.Text, nullable=False),
    sa.Column("definition", sa.Text, nullable=False),  # JSON of the Dataset
)

versions = sa.Table(
    "millstream_versions",
    metadata,
    sa.Column("dataset_id", sa.Uuid, sa.ForeignKey("millstream_datasets.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("published_at", UtcDateTime, nullable=False),
    sa.Column("content_hash", sa.Text),  # NULL: not reproducible
    sa.Column("file_count", sa.Integer, nullable=False),
    sa.Column("total_bytes", sa.BigInteger, nullable=False),
    sa.Column("content", sa.Text, nullable=False),  # JSON of the VersionContent
    sa.UniqueConstraint("dataset_id", "content_hash", name="millstream_versions_content"),
    # Finds the latest active version without reading the rows.
    sa.Index(
        "millstream_versions_latest", "dataset_id", "status", "number", "published_at", unique=True
    ),
)

version_files = sa.Table(
    "millstream_version_files",
    metadata,
    sa.Column("dataset_id", sa.Uuid, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("modified_ns", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.ForeignKeyConstraint(
        ["dataset_id", "number"], ["millstream_versions.dataset_id", "millstream_versions.number"]
    ),
)

periods = sa.Table(
    "millstream_periods",
    metadata,
    sa.Column("identifier", sa.Text, primary_key=True),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("start_date", sa.Date, nullable=False),
    sa.Column("end_date", sa.Date, nullable=False),
    sa.Column("definition", sa.Text, nullable=False),  # JSON of the Period
)

projects = sa.Table(
    "millstream_projects",
    metadata,
    sa.Column("name_key", sa.Text, primary_key=True),  # the name in lower case
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("definition", sa.Text, nullable=False),  # JSON of the Project
)

runs = sa.Table(
    "millstream_runs",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("project", sa.Text, nullable=False),
    sa.Column("project_revision", sa.Integer, nullable=False),
    sa.Column("period", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("finished_at", UtcDateTime),
    sa.Column("lease_owner", sa.Text, nullable=False),
    sa.Column("lease_expires_at", UtcDateTime, nullable=False),
    sa.Column("output", sa.Text),
    sa.Column("replay_of", sa.Uuid),
    sa.Column("snapshot", sa.Text),  # JSON of the ResolverSnapshot
    sa.Column("result", sa.Text),  # JSON of the RunResult
    sa.Column("failure", sa.Text),  # JSON of the RunFailure
    sa.Index("millstream_runs_by_project", "project", "started_at"),
    sa.Index("millstream_runs_by_start", "started_at"),
)

# Two running runs cannot write to one output.
sa.Index(
    "millstream_runs_output",
    runs.c.output,
    unique=True,
    sqlite_where=runs.c.status == "running",
    postgresql_where=runs.c.status == "running",
)
