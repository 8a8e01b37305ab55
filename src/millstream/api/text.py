"""SQL texts over streaming DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame

from millstream.api.query import KEY_GROUPS, Outputs, engine_of, outputs_of, rows_of
from millstream.api.stream import Stream
from millstream.api.tables import Table, table
from millstream.errors import PlanError
from millstream.plan.build import build_query
from millstream.plan.nodes import Column, Pipeline, Source

_WATERMARK = "spark.watermarkDelayMs"


def sql(
    text: str,
    *,
    control: str | Path | None = None,
    engine: str = "auto",
    key_groups: int = KEY_GROUPS,
    **streams: DataFrame | Stream | Table,
) -> DataFrame:
    """One SELECT of Millstream's SQL over streams that go by the names of the keyword arguments.

    A stream's event time is that of `stream(…)`, or of Spark's `withWatermark`. A static DataFrame
    is a table, as is what `table` and `database` give. Rows of a result that changes carry their
    kind in the column `_OP`.
    """
    planned = _planned(text, streams, engine)
    return rows_of(planned.pipeline, planned.frames, control, key_groups, planned.tables)


def outputs(
    text: str,
    *,
    control: str | Path | None = None,
    key_groups: int = KEY_GROUPS,
    **streams: DataFrame | Stream | Table,
) -> Outputs:
    """As `sql`, for a SELECT whose late rows are an output as well ('late.policy')."""
    planned = _planned(text, streams, "auto")
    return outputs_of(planned.pipeline, planned.frames, control, key_groups, planned.tables)


@dataclass(frozen=True, slots=True)
class _Planned:
    pipeline: Pipeline
    frames: dict[str, DataFrame]
    tables: dict[str, Table]


def _planned(text: str, given: Mapping[str, DataFrame | Stream | Table], engine: str) -> _Planned:
    tables = {name: found for name, each in given.items() if (found := _as_table(each))}
    known = {
        name: _as_stream(each)
        for name, each in given.items()
        if name not in tables and not isinstance(each, Table)
    }
    for name, each in known.items():
        if isinstance(each, Stream) and each.distinct:
            raise PlanError(
                "MS-PLAN-NOT-YET",
                f"the stream {name} is deduplicated already, and SQL reads plain streams.",
                fix=f"Give it as it was and write SELECT DISTINCT ON (…) * FROM {name}.",
            )
    sources = {
        name: each.source(name)
        if isinstance(each, Stream)
        else Source(name, tuple(Column(f.name, f.dataType.simpleString()) for f in each.schema))
        for name, each in known.items()
    }
    references = {name: each.reference(name) for name, each in tables.items()}
    pipeline = build_query(text, sources, tables=references)
    if engine != "auto":
        pipeline = replace(pipeline, engine=engine_of(engine))
    frames = {
        name: each.frame if isinstance(each, Stream) else each for name, each in known.items()
    }
    return _Planned(pipeline, frames, tables)


def _as_table(given: DataFrame | Stream | Table) -> Table | None:
    if isinstance(given, Table):
        return given
    if isinstance(given, DataFrame) and not given.isStreaming:
        return table(given)
    return None


def _as_stream(given: DataFrame | Stream) -> DataFrame | Stream:
    if isinstance(given, Stream):
        return given
    for field in given.schema:
        delay = (field.metadata or {}).get(_WATERMARK)
        if delay is not None:
            return Stream(given, field.name, int(delay) * 1000)
    return given
