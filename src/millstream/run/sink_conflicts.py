"""Rejects sinks that would replace each other's output, or write where the job reads or resumes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from millstream.connectors.file.file_patterns import ANY_FOLDERS, has_pattern, matches_path
from millstream.connectors.paths import resolve, to_local_path
from millstream.errors import PlanError
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.connectors import ConnectorRegistry, Role
from millstream.plan.facts.side_outputs import SideSink, side_sinks
from millstream.plan.nodes import Job, ReferenceTable, SinkDef, Source
from millstream.plan.nodes.traversal import reference_tables_of, sources_of


@dataclass(frozen=True, slots=True)
class _Reader:
    """A source or table, and the path that it reads."""

    title: str
    path: str
    recursive: bool = False


def reject_sink_conflicts(
    job: Job, base: Path, checkpoint: Path, connectors: ConnectorRegistry
) -> None:
    """Rejects sinks of a job that would destroy output, input or state.

    Relative paths of the job start from `base`.
    """
    _reject_mixed_side_rows(job)
    readers = list(_readers(job, base, connectors))
    folders: dict[str, SinkDef] = {}
    for sink in _used_sinks(job):
        path = _path_of(sink, Role.SINK, connectors)
        if not path:
            continue
        folder = _absolute(path, base)
        other = folders.setdefault(folder, sink)
        is_shared = connectors[sink.connector].concurrent_writers
        if other is not sink and not (is_shared and other.connector == sink.connector):
            raise _conflict(
                sink,
                f"the sinks {other.name} and {sink.name} both write to {path}, and would "
                "replace each other's files batch by batch.",
                "Give each a 'path' of its own.",
            )
        _reject_input(sink, path, folder, readers)
        _reject_checkpoint(sink, path, folder, str(checkpoint.resolve()))


def _reject_mixed_side_rows(job: Job) -> None:
    """Rejects a sink of late rows and of dead letters, which have different columns."""
    first: dict[str, SideSink] = {}
    for query in group_into_queries(job):
        for each in side_sinks(query):
            other = first.setdefault(each.sink, each)
            if other.rows is not each.rows:
                raise PlanError(
                    "MS-PLAN-SHARED-SINK",
                    f"{other} and {each} both go to the sink {each.sink}, and have different "
                    "columns.",
                    fix="Use one sink for late rows and another one for dead letters.",
                    place=each.place,
                )


def _used_sinks(job: Job) -> list[SinkDef]:
    """Returns the sinks that a query writes to, also those of side outputs."""
    used = {pipeline.sink.name: pipeline.sink for pipeline in job.pipelines}
    for query in group_into_queries(job):
        for each in side_sinks(query):
            if sink := job.sink(each.sink):
                used[sink.name] = sink
    return list(used.values())


def _readers(job: Job, base: Path, connectors: ConnectorRegistry) -> Iterator[_Reader]:
    sources = {source.name: source for each in job.pipelines for source in sources_of(each.root)}
    found: list[tuple[Source | ReferenceTable, Role]] = [
        *((source, Role.SOURCE) for source in sources.values()),
        *((table, Role.TABLE) for table in reference_tables_of(job)),
    ]
    for each, role in found:
        if path := _path_of(each, role, connectors):
            recursive = each.option("recursive") == "true"
            yield _Reader(f"{role} {each.name}", _absolute(path, base), recursive)


def _path_of(
    node: Source | ReferenceTable | SinkDef, role: Role, connectors: ConnectorRegistry
) -> str:
    """The path of a source, table or sink; empty if it has none of its own."""
    spec = connectors[node.connector]
    named = None if spec.tables_in_path else spec.path_property(role)
    return node.option(named) if named else ""


def _absolute(path: str, base: Path) -> str:
    found = resolve(path, base)
    return (to_local_path(found) if found.startswith("file:") else found).rstrip("/")


def _reject_input(sink: SinkDef, path: str, folder: str, readers: list[_Reader]) -> None:
    for reader in readers:
        if _would_read(reader, folder, sink.option("format", "json").lower()):
            raise _conflict(
                sink,
                f"the sink {sink.name} writes to {path}, where the {reader.title} would read its "
                "files again.",
                "Give the sink a 'path' outside of the files and folders that are read.",
            )


def _would_read(reader: _Reader, folder: str, form: str) -> bool:
    """Tests whether files that a sink writes to a folder are among those that a source or table
    reads: a file, a folder, or a glob pattern of files or folders."""
    if not has_pattern(reader.path):
        return _is_in(folder, reader.path)
    patterns = PurePosixPath(reader.path).parts
    parts = PurePosixPath(f"{folder}/000000-0.{form}").parts
    count = len(parts) if reader.recursive else len(patterns)
    lengths = range(1, len(parts) + 1) if ANY_FOLDERS in patterns else (len(patterns), count)
    return any(matches_path(parts[:length], patterns) for length in lengths)


def _reject_checkpoint(sink: SinkDef, path: str, folder: str, checkpoint: str) -> None:
    if _is_in(folder, checkpoint):
        what = f"in the checkpoint {checkpoint}, whose files it could replace"
    elif _is_in(checkpoint, folder):
        what = f"and the checkpoint {checkpoint} is in this folder, where readers of the sink find "
        what += "its files"
    else:
        return
    raise _conflict(
        sink,
        f"the sink {sink.name} writes to {path}, {what}.",
        "Give the sink a 'path' outside of the checkpoint, and set the checkpoint with "
        "--checkpoint or SET 'checkpoint' outside of the sink.",
    )


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _conflict(sink: SinkDef, cause: str, fix: str) -> PlanError:
    return PlanError("MS-PLAN-SHARED-SINK", cause, fix=fix, place=sink.place)
