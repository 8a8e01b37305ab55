"""Streaming DataFrames as sources: their event time, their watermark and their name."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampNTZType, TimestampType

from millstream.api.values import Duration, span_of
from millstream.engine.runtime.user_session import prepare
from millstream.errors import PlanError, PropertyError
from millstream.plan.nodes import Column, Source
from millstream.plan.resolve.name_checks import check_object_name
from millstream.suggestions import nearest
from millstream.temporal import MissingTime, Watermark

_SPARK_WATERMARK = "spark.watermarkDelayMs"


@dataclass(frozen=True, slots=True, eq=False)
class SourceFrame:
    """A streaming DataFrame with its event time, if it has one. Durations are microseconds."""

    frame: DataFrame
    time: str | None = None
    delay: int = 0
    missing: MissingTime = MissingTime.ERROR
    every: int = 1
    idle: int | None = None
    max_ahead: int | None = None
    name: str | None = None

    def source(self, name: str) -> Source:
        """Returns the node of the source in a plan."""
        return Source(
            name,
            tuple(Column(field.name, field.dataType.simpleString()) for field in self.frame.schema),
            None if self.time is None else Watermark(self.time, self.delay, self.every),
            missing_time=self.missing,
            idle=self.idle,
            max_ahead=self.max_ahead,
        )


def source_frame(
    frame: DataFrame,
    *,
    time: str | None,
    delay: Duration | None,
    name: str | None,
    missing: str,
    every: int,
    idle: Duration | None,
    max_ahead: Duration | None,
) -> SourceFrame:
    """Validates the arguments of `stream`."""
    _require_streaming(frame)
    watermark = watermark_of(frame)
    if time is None:
        if watermark is None:
            raise PlanError(
                "MS-PLAN-NO-WATERMARK",
                "the stream has no event time.",
                fix='Name its column: ms.stream(df, time="event_time", delay="5s").',
            )
        time = watermark[0]
    if delay is None:
        wait = watermark[1] if watermark is not None and watermark[0] == time else 0
    else:
        wait = span_of(delay)
    _require_timestamp(frame, time)
    if missing not in list(MissingTime):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"{missing!r} is not a value of `missing`.",
            fix=f"Use one of {', '.join(MissingTime)}.",
        )
    if every < 1:
        raise PropertyError(
            "MS-PROP-VALUE",
            f"a watermark cannot advance at every {every!r} rows.",
            fix="Give a whole number, 1 or more.",
        )
    if name is not None:
        check_object_name("source", name, None)
    idle_timeout = None if idle is None else span_of(idle)
    ahead = None if max_ahead is None else span_of(max_ahead)
    return SourceFrame(frame, time, wait, MissingTime(missing), every, idle_timeout, ahead, name)


def with_spark_watermark(frame: object) -> SourceFrame:
    """Returns a DataFrame as a source, with the event time of Spark's `withWatermark`, if any."""
    if not isinstance(frame, DataFrame):
        raise PlanError(
            "MS-PLAN-STREAM",
            f"{type(frame).__name__} is not a stream.",
            fix="Use the result of ms.stream(df, time=…).",
        )
    _require_streaming(frame)
    watermark = watermark_of(frame)
    return SourceFrame(frame) if watermark is None else SourceFrame(frame, *watermark)


def watermark_of(frame: DataFrame) -> tuple[str, int] | None:
    """Returns the column and the delay in microseconds of Spark's `withWatermark`."""
    for field in frame.schema:
        delay = (field.metadata or {}).get(_SPARK_WATERMARK)
        if delay is not None:
            return field.name, int(delay) * 1000
    return None


def _require_streaming(frame: DataFrame) -> None:
    if not isinstance(frame, DataFrame):
        raise PlanError(
            "MS-PLAN-STREAM",
            f"{type(frame).__name__} is not a streaming DataFrame.",
            fix="Use one of spark.readStream.",
        )
    if not frame.isStreaming:
        raise PlanError(
            "MS-PLAN-STREAM",
            "the DataFrame is not streaming.",
            fix="Read it with spark.readStream, or use it as a table: ms.table(df).",
        )
    prepare(frame.sparkSession)


def _require_timestamp(frame: DataFrame, column: str) -> None:
    if column not in frame.columns:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"the stream has no column {column!r}.",
            fix=nearest(column, frame.columns),
        )
    kind = frame.schema[column].dataType
    if not isinstance(kind, TimestampType | TimestampNTZType):
        raise PlanError(
            "MS-PLAN-TIME-TYPE",
            f"the event time {column!r} is {kind.simpleString()}, not a timestamp.",
            fix=f'Convert it: df.withColumn("{column}", F.to_timestamp("{column}")).',
        )
