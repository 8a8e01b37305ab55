"""Describes a source for `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.document import Fact, Section, data, fact, text
from millstream.plan.facts.pipeline import PipelineFacts
from millstream.plan.nodes import Column, Engine, Input, Query, Source
from millstream.plan.secrets import mask_options, options_text
from millstream.temporal import DEFAULT_MAX_AHEAD, MissingTime, Watermark, format_span


@dataclass(frozen=True, slots=True)
class SourceUse:
    """How a query uses the event times of a source.

    Attributes:
        default_max_ahead: The limit for sources that do not set 'watermark.max_ahead'.
        dead_letter_queries: For sources with a sink of dead letters that several queries read:
            the name of the query that writes malformed records.
        has_watermark: The operator that reads the source has a watermark and runs on the columnar
            engine.
    """

    is_stateless: bool
    is_columnar: bool
    default_max_ahead: int | None
    connectors: ConnectorRegistry
    dead_letter_queries: Mapping[str, str] = field(default_factory=dict)
    has_watermark: bool = False

    @classmethod
    def from_facts(
        cls,
        facts: PipelineFacts,
        query: Query,
        connectors: ConnectorRegistry,
        dead_letter_queries: Mapping[str, str],
    ) -> SourceUse:
        stores_rows = any(connectors[sink.connector].keeps_rows for sink in query.sinks)
        default = DEFAULT_MAX_AHEAD if stores_rows else None
        is_columnar = facts.engine is Engine.COLUMNAR
        return cls(not facts.operators, is_columnar, default, connectors, dead_letter_queries)

    def for_input(self, side: Input) -> SourceUse:
        """Returns the use by an operator that reads this input."""
        return replace(self, has_watermark=self.is_columnar and side.time is not None)

    def max_ahead(self, source: Source) -> int | None:
        """Returns the limit that `run` applies, in microseconds; None: no limit."""
        if source.watermark is None or not self.has_watermark or source.max_ahead == 0:
            return None
        return self.default_max_ahead if source.max_ahead is None else source.max_ahead


def source_section(source: Source, use: SourceUse, alias: str) -> Section:
    return Section(f"Source {source.name}{alias}: {source.connector}", tuple(_facts(source, use)))


def columns_fact(columns: tuple[Column, ...]) -> Fact:
    value = [{"name": each.name, "type": each.type} for each in columns]
    shown = ", ".join(f"{each.name} {each.type or '?'}" for each in columns)
    return fact("columns", value, "columns", shown)


def _facts(source: Source, use: SourceUse) -> Iterator[Fact]:
    yield data("kind", "source")
    yield data("name", source.name)
    yield data("connector", source.connector)
    yield columns_fact(source.columns)
    if source.retracts:
        yield fact("retracts", True, "changes", "rows may retract earlier rows")
    yield _watermark(source.watermark)
    missing = [_missing_time(source, use)] if source.watermark else []
    yield fact("event_missing", str(source.missing_time), "no time", *missing)
    yield _max_ahead(source, use)
    idle = []
    if source.idle is not None:
        idle = [f"after {format_span(source.idle)} without rows the watermark does not wait for it"]
    yield fact("idle_us", source.idle, "idle", *idle)
    sink = f" to {source.dead_letter}" if source.dead_letter else ""
    if writer := use.dead_letter_queries.get(source.name):
        sink += f", written by the query {writer}"
        yield data("dead_letter_query", writer)
    yield fact("malformed", str(source.malformed), "malformed", f"{source.malformed}{sink}")
    yield data("dead_letter", source.dead_letter)
    spec = use.connectors[source.connector]
    yield data("options", mask_options(spec, source.options))
    if source.options:
        yield text("options", options_text(spec, source.options))


def _watermark(watermark: Watermark | None) -> Fact:
    if watermark is None:
        return fact("watermark", None, "watermark", "none")
    value = {
        "column": watermark.column,
        "delay_us": watermark.delay,
        "every_rows": watermark.every,
    }
    advances = f", advances every {watermark.every} rows" if watermark.every > 1 else ""
    shown = f"{watermark.column}, delay {format_span(watermark.delay)}{advances}"
    return fact("watermark", value, "watermark", shown)


def _missing_time(source: Source, use: SourceUse) -> str:
    if use.is_stateless and source.missing_time is not MissingTime.WALL_CLOCK:
        return "rows without an event time pass: the query is stateless"
    return _MISSING[source.missing_time]


_MISSING = {
    MissingTime.ERROR: "error: a row without an event time stops the job",
    MissingTime.SKIP: "skip: a row without an event time is dropped and counted",
    MissingTime.WALL_CLOCK: "wall_clock: a row without an event time gets the processing time",
}


def _max_ahead(source: Source, use: SourceUse) -> Fact:
    """Describes 'watermark.max_ahead'. Text omits it if it is neither set nor applied."""
    limit = use.max_ahead(source)
    shown = []
    if limit is not None:
        shown = [f"a row more than {format_span(limit)} ahead of processing time is rejected"]
    elif source.watermark and source.max_ahead is not None:
        shown = ["off" if source.max_ahead == 0 else "not applied: no operator uses the watermark"]
    return fact("max_ahead_us", limit, "max ahead", *shown)
