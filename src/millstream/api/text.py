"""SQL texts over streaming DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame

from millstream.api.query import KEY_GROUPS, Outputs, engine_of, outputs_of, rows_of
from millstream.api.stream import Stream
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
    **streams: DataFrame | Stream,
) -> DataFrame:
    """One SELECT of Millstream's SQL over streams that go by the names of the keyword arguments.

    A stream's event time is that of `stream(…)`, or of Spark's `withWatermark`. Rows of a result
    that changes carry their kind in the column `_OP`.
    """
    pipeline, frames = _planned(text, streams, engine)
    return rows_of(pipeline, frames, control, key_groups)


def outputs(
    text: str,
    *,
    control: str | Path | None = None,
    key_groups: int = KEY_GROUPS,
    **streams: DataFrame | Stream,
) -> Outputs:
    """As `sql`, for a SELECT whose late rows are an output as well ('late.policy')."""
    pipeline, frames = _planned(text, streams, "auto")
    return outputs_of(pipeline, frames, control, key_groups)


def _planned(
    text: str, streams: Mapping[str, DataFrame | Stream], engine: str
) -> tuple[Pipeline, dict[str, DataFrame]]:
    known = {name: _as_stream(given) for name, given in streams.items()}
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
    pipeline = build_query(text, sources)
    if engine != "auto":
        pipeline = replace(pipeline, engine=engine_of(engine))
    frames = {
        name: each.frame if isinstance(each, Stream) else each for name, each in known.items()
    }
    return pipeline, frames


def _as_stream(given: DataFrame | Stream) -> DataFrame | Stream:
    if isinstance(given, Stream):
        return given
    for field in given.schema:
        delay = (field.metadata or {}).get(_WATERMARK)
        if delay is not None:
            return Stream(given, field.name, int(delay) * 1000)
    return given
