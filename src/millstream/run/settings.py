"""The settings of a run: from the command line, else from SET in the job, else the defaults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from millstream.connectors.paths import resolve
from millstream.errors import PlanError, PropertyError
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.connectors import ConnectorRegistry, Role
from millstream.plan.facts.branches import query_operators, query_references, query_sources
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Job, Query, SinkDef, Source
from millstream.plan.nodes.traversal import sources_of
from millstream.temporal import DurationRangeError, LateAction, parse_span

FOLDER = ".millstream"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run. Relative paths of the job start from `base`."""

    base: Path
    checkpoint: Path
    every: int = 0  # microseconds between the starts of micro-batches; 0: without delay
    once: bool = False
    flush: bool = False
    groups: int | None = None
    spark: tuple[tuple[str, str], ...] = ()
    connectors: ConnectorRegistry = field(default_factory=installed_connectors)

    @property
    def trigger(self) -> dict[str, object]:
        """The arguments of Spark's `DataStreamWriter.trigger`."""
        if self.once and not self.flush:
            return {"availableNow": True}
        # In whole milliseconds; 0: without delay.
        return {"processingTime": f"{-(-self.every // 1000)} milliseconds"}


def settings_of(
    job: Job,
    file: Path,
    *,
    checkpoint: Path | None = None,
    once: bool = False,
    flush: bool = False,
    every: str | None = None,
    connectors: ConnectorRegistry | None = None,
) -> RunSettings:
    """Returns the settings for the job in a file. Paths in the job are relative to its folder."""
    base = file.resolve().parent
    known = installed_connectors() if connectors is None else connectors
    trigger = job.setting("trigger").lower()
    if not once and every is None and trigger:
        once, every = trigger == "once", None if trigger == "once" else trigger
    groups = job.setting("key_groups")
    _reject_unusable(job, base, known)
    return RunSettings(
        base=base,
        checkpoint=checkpoint or checkpoint_of(file, job.setting("checkpoint")),
        every=_span(every) if every else 0,
        once=once,
        flush=flush,
        groups=int(groups) if groups else None,
        spark=tuple((name, value) for name, value in job.settings if name.startswith("spark.")),
        connectors=known,
    )


def checkpoint_of(file: Path, setting: str) -> Path:
    """Returns the checkpoint of the job in a file: SET 'checkpoint', or a folder beside the
    file."""
    return file.resolve().parent / (setting or f"{FOLDER}/{file.stem}")


def _span(every: str) -> int:
    try:
        span = parse_span(every)
    except DurationRangeError:
        raise
    except PropertyError as error:
        raise PropertyError("MS-PROP-TRIGGER", error.cause, fix=_TRIGGER) from None
    if span <= 0:
        raise PropertyError(
            "MS-PROP-TRIGGER", f"the trigger '{every}' is not positive.", fix=_TRIGGER
        )
    return span


_TRIGGER = "A trigger is a duration such as 500ms, 10s or 5m, or 'once' in SET 'trigger'."


def _reject_unusable(job: Job, base: Path, connectors: ConnectorRegistry) -> None:
    if job.setting("batch.target"):
        raise PlanError(
            "MS-PLAN-NOT-YET",
            "'batch.target' is not supported yet.",
            fix="Remove it; 'max.files.per.batch' of a source limits a batch.",
        )
    _reject_shared_folders(job, base, connectors)
    users: dict[str, tuple[str, str]] = {}
    for query in group_into_queries(job):
        for sink, user in _side_sinks(query):
            if users.setdefault(sink, user) != user:
                raise PlanError(
                    "MS-PLAN-SHARED-SINK",
                    f"{_describe(users[sink])} and {_describe(user)} both go to the sink {sink}, "
                    "and would replace each other batch by batch.",
                    fix=_shared_sink_fix(job, sink),
                )


def _reject_shared_folders(job: Job, base: Path, connectors: ConnectorRegistry) -> None:
    """Rejects sinks that share a folder, because they name files by batch and would replace each
    other's files, and sources that would read the output of the job."""
    used = {pipeline.sink.name: pipeline.sink for pipeline in job.pipelines}
    for query in group_into_queries(job):
        for name, _ in _side_sinks(query):
            if sink := job.sink(name):
                used[sink.name] = sink
    read = {source.name: source for each in job.pipelines for source in sources_of(each.root)}
    folders: dict[str, str] = {}
    for sink in used.values():
        path = _path_of(sink, Role.SINK, connectors)
        if not path:
            continue
        folder = resolve(path, base).rstrip("/")
        if folders.setdefault(folder, sink.name) != sink.name:
            raise PlanError(
                "MS-PLAN-SHARED-SINK",
                f"the sinks {folders[folder]} and {sink.name} both write to {path}, and "
                "would replace each other's files batch by batch.",
                fix="Give each a 'path' of its own.",
                place=sink.place,
            )
        for source in read.values():
            if _is_in(folder, _path_of(source, Role.SOURCE, connectors), base):
                raise PlanError(
                    "MS-PLAN-SHARED-SINK",
                    f"the sink {sink.name} writes to {path}, where the source {source.name} "
                    "would read its files again.",
                    fix="Give the sink a 'path' outside of the folders that are read.",
                    place=sink.place,
                )


def _path_of(node: Source | SinkDef, role: Role, connectors: ConnectorRegistry) -> str:
    """The path of a source or sink; empty if its connector has none."""
    named = connectors[node.connector].path_property(role)
    return node.option(named) if named else ""


def _is_in(folder: str, path: str, base: Path) -> bool:
    """Whether the folder of a sink is in the folder that a source reads."""
    if not path:
        return False
    read = resolve(path, base).rstrip("/")
    return folder == read or folder.startswith(f"{read}/")


def _side_sinks(query: Query) -> Iterator[tuple[str, tuple[str, str]]]:
    """The sinks of side outputs of a query, each with the query and the kind of its rows."""
    for source in query_sources(query):
        if source.dead_letter:
            yield source.dead_letter, (query.title, "dead letters")
    for table in query_references(query):
        if table.dead_letter:
            yield table.dead_letter, (query.title, f"rows not found in {table.name}")
    for operator in query_operators(query):
        if operator.late.action is LateAction.SIDE_OUTPUT and operator.late.sink:
            yield operator.late.sink, (query.title, "late rows")


def _shared_sink_fix(job: Job, sink: str) -> str:
    """The fix for several queries that write to one sink, such as the 'dead_letter.sink' of a
    source."""
    readers = Counter(
        name
        for query in group_into_queries(job)
        for name in {each.name for each in query_sources(query) if each.dead_letter == sink}
    )
    for source, queries in readers.items():
        if queries > 1:
            return (
                f"Leave 'dead_letter.sink' out of {source}, which {queries} queries read: each "
                "then stores its dead letters in the checkpoint."
            )
    return "Use a different sink for each; without one, the rows are stored in the checkpoint."


def _describe(user: tuple[str, str]) -> str:
    query, what = user
    return f"{what} of {query}"
