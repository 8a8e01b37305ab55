"""Small values of a catalog for tests."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID, uuid4

from millstream.catalog.model import (
    Assignment,
    Column,
    DataFormat,
    Dataset,
    DatasetSnapshot,
    Definitions,
    JoinDatasetSnapshot,
    Period,
    Positions,
    ProjectOutput,
    ProjectOverride,
    ResolverRef,
    ResolverSnapshot,
    ResolverSource,
    RunEnvironment,
    RuntimeJoin,
    Table,
    TemporalMode,
    UpdateOperation,
    VersionContent,
    VersionFile,
)
from millstream.catalog.store.open import OpenCatalog
from millstream.errors import Place


def dataset(name: str) -> Dataset:
    return Dataset(uuid4(), name, Table(name, (Column("id", "bigint"),)))


def content(content_hash: str | None = None, location: str = "/data/a.csv") -> VersionContent:
    return VersionContent(
        format=DataFormat.CSV,
        location=location,
        schema=(Column("id", "bigint"),),
        content_hash=content_hash,
        row_count=2,
    )


FILES = (VersionFile("", 10, 1_700_000_000_000_000_001, "ab"),)


def add_dataset(catalog: OpenCatalog, name: str) -> Dataset:
    added = dataset(name)
    catalog.writer.apply(Definitions(catalog.reader.definitions().revision, (added,)))
    return added


ENVIRONMENT = RunEnvironment("4.1.0", "0.1.0", "UTC", ansi_enabled=True)
FX = UUID("5a1de2ce-70f1-4bb4-8b8c-0a3f4c4f8a01")


def _resolved(content_hash: str | None = "sha256:ab") -> dict[str, Any]:
    return {
        "dataset_id": FX,
        "dataset_name": "fx",
        "dataset_version": 2,
        "table_name": "rates",
        "temporal_mode": TemporalMode.PERIOD,
        "resolver_source": ResolverSource.PROJECT_OVERRIDE,
        "resolver": ResolverRef("path", {"path": "/data/{version}"}),
        "format": DataFormat.CSV,
        "location": "/data/2",
        "schema": (Column("rate", "decimal(18,6)"),),
        "content_hash": content_hash,
        "options": {"delimiter": ";"},
        "files": (VersionFile("a.csv", 12, 1_700_000_000_000_000_123, "ab"),),
    }


def snapshot(content_hash: str | None = "sha256:ab") -> ResolverSnapshot:
    at = Positions(Place(3, 5, file="p.yaml"), {"on": Place(6, 11, file="p.yaml")})
    join = RuntimeJoin("fx", FX, "t.c = fx.c", 2, positions=at)
    return ResolverSnapshot(
        input_dataset_id=FX,
        input_dataset_version=2,
        input=DatasetSnapshot(**_resolved()),
        join_datasets=(JoinDatasetSnapshot(operation=0, alias="fx", **_resolved(content_hash)),),
        period=Period("2026-01", date(2026, 1, 1), date(2026, 1, 31), "month", "2026-Q1"),
        operations=(UpdateOperation((join,), (Assignment("usd", "amount * fx.rate"),)),),
        resolver_overrides=(ProjectOverride("customers", ResolverRef("path")),),
        output=ProjectOutput("/out/{period}"),
        environment=ENVIRONMENT,
    )
