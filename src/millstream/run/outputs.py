"""The locations of a query's outputs, late rows and dead letters."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millstream.connectors.file.sink_options import checkpoint_sink, partition_columns
from millstream.connectors.paths import resolve
from millstream.connectors.protocols import SinkOutput, SupportsLabel
from millstream.connectors.registry import open_output
from millstream.errors import StateError
from millstream.observe.ledger import (
    OWN_LATE_SINK,
    Ledger,
    SparkLedger,
    dead_letters_of,
    late_rows_in,
)
from millstream.observe.operator_names import names_of
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.connectors import Role
from millstream.plan.facts.output_groups import query_operators, query_references, query_sources
from millstream.plan.facts.side_outputs import side_sinks
from millstream.plan.nodes import Job, Query, ReferenceTable, SinkDef
from millstream.plan.secrets import mask_secret
from millstream.row_outcomes import RowOutcome
from millstream.run.checkpoint import Checkpoint
from millstream.run.dataset_versions import remove_versions
from millstream.run.malformed_writers import FILE as DEAD_LETTER_QUERIES
from millstream.run.settings import RunSettings
from millstream.run.tables import FOLDER as TABLES
from millstream.temporal import LateAction


@dataclass(frozen=True, slots=True)
class OutputLocation:
    """Where `rows` rows of a kind were written."""

    what: str
    rows: int
    connector: str
    path: str | None = None
    format: str = "json"
    partitions: tuple[str, ...] = ()  # partition columns


def output_locations(
    query: Query, settings: RunSettings, ledger: Ledger | SparkLedger
) -> list[OutputLocation]:
    """The sinks of a query's outputs."""
    return [
        _location(sink, "rows", ledger.outputs.get(sink.name, 0), settings) for sink in query.sinks
    ]


def side_output_locations(
    job: Job, query: Query, settings: RunSettings, ledger: Ledger | SparkLedger
) -> list[OutputLocation]:
    """The sinks of late rows and dead letters, whether or not there were any."""
    found: list[OutputLocation] = []
    if isinstance(ledger, SparkLedger):
        return found
    folder = Checkpoint(settings.checkpoint / query.name)
    sinks = [
        operator.late.sink or ""
        for operator in query_operators(query)
        if operator.late.action is LateAction.SIDE_OUTPUT
    ]
    for sink in dict.fromkeys(sinks):
        if named := job.sink(sink):
            count = ledger.written.get(late_rows_in(named.name), 0)
            found.append(_location(named, "late rows", count, settings))
        else:
            count = ledger.written.get(late_rows_in(OWN_LATE_SINK), 0)
            found.append(_checkpoint_location("late rows", count, folder.late))
    for source in query_sources(query):
        named = job.sink(source.dead_letter or "")
        own = folder.dead_letters(source.name)
        found += [
            _location(named, what, count, settings)
            if named
            else _checkpoint_location(what, count, own)
            for what, count in _rejected(source.name, ledger)
        ]
    found += _failed_rows(job, query, settings, ledger)
    for table in query_references(query):
        what, count = _failed_lookups(table), ledger.written.get(dead_letters_of(table.name), 0)
        if count and (named := job.sink(table.dead_letter or "")):
            found.append(_location(named, what, count, settings))
        elif count:
            found.append(_checkpoint_location(what, count, folder.dead_letters(table.name)))
    return found


def _rejected(source: str, ledger: Ledger) -> Iterator[tuple[str, int]]:
    """Kinds of dead letters of a source, and how many there are."""
    read = [each for each in ledger.inputs if _is_of(each.name, source)][:1]
    yield f"malformed records of {source}", sum(each[RowOutcome.MALFORMED] for each in read)
    if ahead := sum(each[RowOutcome.AHEAD_OF_TIME] for each in read):
        yield f"rows of {source} ahead of time", ahead


def _failed_rows(
    job: Job, query: Query, settings: RunSettings, ledger: Ledger
) -> Iterator[OutputLocation]:
    """The sinks of rows for which an expression failed, if there are any."""
    folder = Checkpoint(settings.checkpoint / query.name)
    own = job.sink(query.errors.sink or "")
    for source in query_sources(query):
        read = [each for each in ledger.inputs if _is_of(each.name, source.name)]
        what = f"rows of {source.name} for which an expression failed"
        if count := sum(each[RowOutcome.FAILED_EXPRESSION] for each in read):
            if sink := own or job.sink(source.dead_letter or ""):
                yield _location(sink, what, count, settings)
            else:
                yield _checkpoint_location(what, count, folder.dead_letters(source.name))
    titles = dict.fromkeys(each.operator for each in names_of(query))
    what = "results for which an expression failed"
    if count := sum(ledger.written.get(dead_letters_of(title), 0) for title in titles):
        if own:
            yield _location(own, what, count, settings)
        else:
            yield _checkpoint_location(what, count, folder.failed_results)


def _is_of(name: str, source: str) -> bool:
    """Whether an input reads a source. If a source is read twice, ledgers add the alias."""
    return name == source or name.startswith(f"{source} ")


def _failed_lookups(table: ReferenceTable) -> str:
    return f"rows whose lookup in {table.name} failed"


def _location(sink: SinkDef, what: str, rows: int, settings: RunSettings) -> OutputLocation:
    named = settings.connectors[sink.connector].path_property(Role.SINK)
    path = sink.option(named) if named else ""
    where = resolve(path, settings.base) if path else None
    form, partitions = sink.option("format", "json").lower(), partition_columns(sink)
    return OutputLocation(what, rows, sink.connector, where, form, partitions)


def _checkpoint_location(what: str, rows: int, folder: Path) -> OutputLocation:
    """The location of rows that are stored in the checkpoint."""
    sink = checkpoint_sink(what, folder)
    return OutputLocation(what, rows, sink.connector, str(folder), sink.option("format"))


def reject_foreign_files(job: Job, settings: RunSettings) -> None:
    """Rejects a new checkpoint, and a new place of a sink, if sinks have files of another run,
    which its batches would replace. A side sink may have files of other queries of this run."""
    queries = group_into_queries(job)
    started = [each for each in queries if Checkpoint(settings.checkpoint / each.name).has_started]
    shared = {each.sink for query in started for each in side_sinks(query)}
    for query in queries:
        folder = Checkpoint(settings.checkpoint / query.name)
        moved = folder.moved_sinks(query, job.sinks)
        for sink, found in _outputs(job, query, settings):
            if query in started and sink.name not in moved:
                continue
            output = found
            if sink.name in shared and isinstance(found, SupportsLabel):
                output = found.with_label(query.name)
            if output.files(folder.next_batch):
                shown = mask_secret("path", _location(sink, "rows", 0, settings).path or sink.name)
                raise StateError(
                    "MS-STATE-SINK",
                    f"{shown} has files of another run, and {_what(query, folder)} would replace "
                    "them.",
                    fix="Resume from that run's --checkpoint, give the sink another path, or add "
                    "--fresh to remove those files and start again.",
                    place=sink.place,
                )


def _what(query: Query, folder: Checkpoint) -> str:
    return f"the next batches of {query.title}" if folder.has_started else "a new checkpoint"


def remove_outputs(job: Job, settings: RunSettings) -> None:
    """Removes the checkpoint of each query and the output of its sinks."""
    remove_versions(settings.checkpoint)
    (settings.checkpoint / DEAD_LETTER_QUERIES).unlink(missing_ok=True)
    for query in group_into_queries(job):
        folder = settings.checkpoint / query.name
        if (folder / "millstream.json").exists():
            shutil.rmtree(folder)
        shutil.rmtree(settings.checkpoint / TABLES, ignore_errors=True)
        for _, output in _outputs(job, query, settings):
            output.remove()


def _outputs(job: Job, query: Query, settings: RunSettings) -> Iterator[tuple[SinkDef, SinkOutput]]:
    """The sinks of a query whose output is known to the connector."""
    names = [each.sink for each in side_sinks(query)]
    for sink in (*query.sinks, *map(job.sink, dict.fromkeys(names))):
        if sink is None:
            continue
        output = open_output(settings.connectors, sink, settings.base)
        if output is not None:
            yield sink, output
