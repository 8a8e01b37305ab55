"""Converts values of the catalog to rows of its tables, and back."""

from __future__ import annotations

from typing import Any, TypeVar

import sqlalchemy as sa
from pydantic import TypeAdapter

from millstream.catalog.model import (
    Dataset,
    DatasetVersion,
    Lease,
    Period,
    Project,
    ResolverSnapshot,
    Run,
    RunFailure,
    RunResult,
    RunStatus,
    Status,
    VersionContent,
    VersionFile,
)

Value = TypeVar("Value")

DATASET = TypeAdapter(Dataset)
CONTENT = TypeAdapter(VersionContent)
PERIOD = TypeAdapter(Period)
PROJECT = TypeAdapter(Project)
SNAPSHOT = TypeAdapter(ResolverSnapshot)
RESULT = TypeAdapter(RunResult)
FAILURE = TypeAdapter(RunFailure)


def to_json(adapter: TypeAdapter[Value], value: Value) -> str:
    return adapter.dump_json(value).decode()


def dataset_row(dataset: Dataset) -> dict[str, Any]:
    return {
        "id": dataset.id,
        "name": dataset.name,
        "name_key": dataset.name.lower(),
        "status": dataset.status.value,
        "temporal_mode": dataset.table.temporal_mode.value,
        "definition": to_json(DATASET, dataset),
    }


def version_row(version: DatasetVersion, content: VersionContent) -> dict[str, Any]:
    return {
        "dataset_id": version.dataset_id,
        "number": version.number,
        "status": version.status.value,
        "published_at": version.published_at,
        "content_hash": content.content_hash,
        "file_count": version.file_count,
        "total_bytes": version.total_bytes,
        "content": to_json(CONTENT, content),
    }


def version_of(row: sa.Row[Any]) -> DatasetVersion:
    content = CONTENT.validate_json(row.content)
    return new_version(
        content,
        dataset_id=row.dataset_id,
        number=row.number,
        status=Status(row.status),
        published_at=row.published_at,
        file_count=row.file_count,
        total_bytes=row.total_bytes,
    )


def new_version(content: VersionContent, **published: Any) -> DatasetVersion:
    """Returns the version that a content is published as."""
    return DatasetVersion(
        format=content.format,
        location=content.location,
        schema=content.schema,
        content_hash=content.content_hash,
        options=content.options,
        row_count=content.row_count,
        note=content.note,
        key=content.key,
        database_columns=content.database_columns,
        **published,
    )


def file_of(row: sa.Row[Any]) -> VersionFile:
    return VersionFile(row.path, row.size, row.modified_ns, row.sha256)


def period_row(period: Period) -> dict[str, Any]:
    return {
        "identifier": period.identifier,
        "level": period.level,
        "start_date": period.start,
        "end_date": period.end,
        "definition": to_json(PERIOD, period),
    }


def project_row(project: Project) -> dict[str, Any]:
    return {
        "name_key": project.name.lower(),
        "status": project.status.value,
        "revision": project.revision,
        "definition": to_json(PROJECT, project),
    }


def run_of(row: sa.Row[Any]) -> Run:
    return Run(
        id=row.id,
        project=row.project,
        project_revision=row.project_revision,
        period=row.period,
        status=RunStatus(row.status),
        started_at=row.started_at,
        lease=Lease(row.lease_owner, row.lease_expires_at),
        output=row.output,
        replay_of=row.replay_of,
        snapshot=SNAPSHOT.validate_json(row.snapshot) if row.snapshot else None,
        result=RESULT.validate_json(row.result) if row.result else None,
        failure=FAILURE.validate_json(row.failure) if row.failure else None,
        finished_at=row.finished_at,
    )
