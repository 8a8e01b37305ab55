"""Create the tables of a catalog."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    catalog = op.create_table(
        "millstream_catalog",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    op.bulk_insert(catalog, [{"id": 1, "revision": 0}])
    _create_datasets()
    _create_definitions()
    _create_runs()


def _create_datasets() -> None:
    op.create_table(
        "millstream_datasets",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", sa.Text, nullable=False, unique=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("temporal_mode", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
    )
    op.create_table(
        "millstream_versions",
        sa.Column("dataset_id", sa.Uuid, sa.ForeignKey("millstream_datasets.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content_hash", sa.Text),
        sa.Column("file_count", sa.Integer, nullable=False),
        sa.Column("total_bytes", sa.BigInteger, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.UniqueConstraint("dataset_id", "content_hash", name="millstream_versions_content"),
    )
    op.create_index(
        "millstream_versions_latest",
        "millstream_versions",
        ["dataset_id", "status", "number", "published_at"],
        unique=True,
    )
    op.create_table(
        "millstream_version_files",
        sa.Column("dataset_id", sa.Uuid, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("path", sa.Text, primary_key=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("modified_ns", sa.BigInteger, nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id", "number"],
            ["millstream_versions.dataset_id", "millstream_versions.number"],
        ),
    )


def _create_definitions() -> None:
    op.create_table(
        "millstream_periods",
        sa.Column("identifier", sa.Text, primary_key=True),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("start_date", sa.Date, nullable=False),
        sa.Column("end_date", sa.Date, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
    )
    op.create_table(
        "millstream_projects",
        sa.Column("name_key", sa.Text, primary_key=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
    )


def _create_runs() -> None:
    runs = op.create_table(
        "millstream_runs",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("project_revision", sa.Integer, nullable=False),
        sa.Column("period", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("lease_owner", sa.Text, nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("output", sa.Text),
        sa.Column("replay_of", sa.Uuid),
        sa.Column("snapshot", sa.Text),
        sa.Column("result", sa.Text),
        sa.Column("failure", sa.Text),
    )
    op.create_index("millstream_runs_by_project", "millstream_runs", ["project", "started_at"])
    op.create_index("millstream_runs_by_start", "millstream_runs", ["started_at"])
    running = runs.c.status == "running"
    op.create_index(
        "millstream_runs_output",
        "millstream_runs",
        ["output"],
        unique=True,
        sqlite_where=running,
        postgresql_where=running,
    )
