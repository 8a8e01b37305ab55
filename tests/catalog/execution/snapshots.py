"""Snapshots over small Parquet files, for tests of execution without a catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession
from tests.catalog.samples import ENVIRONMENT

from millstream.catalog.model import (
    Column,
    DataFormat,
    DatasetSnapshot,
    JoinDatasetSnapshot,
    Period,
    ProjectOutput,
    ResolverRef,
    ResolverSnapshot,
    ResolverSource,
    TemporalMode,
    UpdateOperation,
)

JANUARY = Period("2026-01", date(2026, 1, 1), date(2026, 1, 31))


def dataset(
    spark: SparkSession,
    folder: Path,
    name: str,
    schema: str,
    rows: Sequence[tuple[Any, ...]],
    mode: TemporalMode = TemporalMode.NONE,
) -> DatasetSnapshot:
    """Writes rows as Parquet and returns a snapshot of them."""
    path = folder / f"{name}-{uuid4().hex[:6]}"
    frame = spark.createDataFrame(list(rows), schema)
    frame.coalesce(1).write.parquet(str(path))
    return DatasetSnapshot(
        dataset_id=uuid4(),
        dataset_name=name,
        dataset_version=1,
        table_name=name,
        temporal_mode=mode,
        resolver_source=ResolverSource.SYSTEM_DEFAULT,
        resolver=ResolverRef("catalog"),
        format=DataFormat.PARQUET,
        location=str(path),
        schema=tuple(Column(each.name, each.dataType.simpleString()) for each in frame.schema),
        content_hash="sha256:0",
    )


def joined(found: DatasetSnapshot, alias: str, operation: int = 0) -> JoinDatasetSnapshot:
    values = {each.name: getattr(found, each.name) for each in fields(found)}
    return JoinDatasetSnapshot(**values, alias=alias, operation=operation)


def snapshot(
    given: DatasetSnapshot,
    joins: Sequence[JoinDatasetSnapshot],
    *operations: UpdateOperation,
    period: Period = JANUARY,
) -> ResolverSnapshot:
    return ResolverSnapshot(
        input_dataset_id=given.dataset_id,
        input_dataset_version=given.dataset_version,
        input=given,
        join_datasets=tuple(joins),
        period=period,
        operations=operations,
        resolver_overrides=(),
        output=ProjectOutput("out"),
        environment=ENVIRONMENT,
    )
