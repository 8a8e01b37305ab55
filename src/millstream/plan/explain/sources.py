"""A source in the document of `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.document import Fact, Section, data, fact, text
from millstream.plan.explain.source_use import SourceUse
from millstream.plan.nodes import Column, Source
from millstream.plan.secrets import mask_options, options_text
from millstream.temporal import MissingTime, Watermark, format_span


def source_section(source: Source, use: SourceUse, called: str) -> Section:
    return Section(f"Source {source.name}{called}: {source.connector}", tuple(_facts(source, use)))


def columns_fact(columns: tuple[Column, ...]) -> Fact:
    told = [{"name": each.name, "type": each.type} for each in columns]
    shown = ", ".join(f"{each.name} {each.type or '?'}" for each in columns)
    return fact("columns", told, "columns", shown)


def _facts(source: Source, use: SourceUse) -> Iterator[Fact]:
    yield data("kind", "source")
    yield data("name", source.name)
    yield data("connector", source.connector)
    yield columns_fact(source.columns)
    yield _watermark(source.watermark)
    missing = [_missing_time(source, use)] if source.watermark else []
    yield fact("event_missing", str(source.missing_time), "no time", *missing)
    yield _max_ahead(source, use)
    idle = []
    if source.idle is not None:
        silent = format_span(source.idle)
        idle = [f"silent for {silent}, it holds no watermark back until it speaks"]
    yield fact("idle_us", source.idle, "idle", *idle)
    letters = f" to {source.dead_letter}" if source.dead_letter else ""
    yield fact("malformed", str(source.malformed), "malformed", f"{source.malformed}{letters}")
    yield data("dead_letter", source.dead_letter)
    spec = use.connectors[source.connector]
    yield data("options", mask_options(spec, source.options))
    if source.options:
        yield text("options", options_text(spec, source.options))


def _watermark(watermark: Watermark | None) -> Fact:
    if watermark is None:
        return fact("watermark", None, "watermark", "none")
    told = {
        "column": watermark.column,
        "delay_us": watermark.delay,
        "every_rows": watermark.every,
    }
    advances = f", advances every {watermark.every} rows" if watermark.every > 1 else ""
    shown = f"{watermark.column}, delay {format_span(watermark.delay)}{advances}"
    return fact("watermark", told, "watermark", shown)


def _missing_time(source: Source, use: SourceUse) -> str:
    if use.is_stateless and source.missing_time is not MissingTime.WALL_CLOCK:
        return "rows without an event time pass: the query keeps no state"
    return _MISSING[source.missing_time]


_MISSING = {
    MissingTime.ERROR: "error: a row without an event time stops the job",
    MissingTime.SKIP: "skip: a row without an event time is counted and left out",
    MissingTime.WALL_CLOCK: "wall_clock: a row without an event time gets the batch's time",
}


def _max_ahead(source: Source, use: SourceUse) -> Fact:
    """Without a line if the source does not set it, and there is no watermark to protect."""
    limit = use.max_ahead(source)  # None: off
    shown = []
    if limit is not None:
        shown = [f"a row more than {format_span(limit)} ahead of processing time is rejected"]
    elif source.watermark and source.max_ahead is not None:
        shown = ["off" if source.max_ahead == 0 else "not used: no watermark is at risk"]
    return fact("max_ahead_us", limit, "max ahead", *shown)
