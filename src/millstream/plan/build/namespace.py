"""The namespace of a job: its sources, streams, tables and sinks by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from millstream.errors import Place, PlanError
from millstream.plan.build.computed_columns import with_computed_columns, with_watermark
from millstream.plan.build.declarations import build_sink_definition, build_source
from millstream.plan.build.query import PlannedQuery, QueryPlanner
from millstream.plan.build.tables.datasets import DatasetResolver, declare_datasets, resolve_dataset
from millstream.plan.build.tables.reference import build_reference_table, is_reference_table
from millstream.plan.build.tables.versioned import VersionedTable, build_versioned_table
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.nodes import Job, ReferenceTable, Select, SinkDef, Source
from millstream.plan.nodes.traversal import operators_of
from millstream.plan.reject import not_supported
from millstream.plan.resolve.name_checks import check_object_name
from millstream.plan.resolve.size_limits import reject_many_columns
from millstream.sql.limits import MAX_NESTING
from millstream.sql.statements import (
    CreateSink,
    CreateSource,
    CreateStream,
    CreateTable,
    Property,
    Query,
    Statement,
)
from millstream.suggestions import among, nearest, same

_KINDS: Mapping[type, str] = {
    CreateSource: "source",
    CreateTable: "table",
    CreateStream: "stream",
    CreateSink: "sink",
}


@dataclass(slots=True)
class JobNamespace:
    """The sources, views, tables and sinks of a job. Names are case-insensitive."""

    connectors: ConnectorRegistry
    given_streams: dict[str, Source | Select] = field(default_factory=dict)
    given_tables: dict[str, ReferenceTable] = field(default_factory=dict)  # by lower name
    sources: dict[str, Source] = field(default_factory=dict)
    declared_sources: dict[str, CreateSource] = field(default_factory=dict)
    views: dict[str, CreateStream] = field(default_factory=dict)
    tables: dict[str, CreateTable] = field(default_factory=dict)  # versioned tables
    references: dict[str, ReferenceTable] = field(default_factory=dict)
    sinks: dict[str, SinkDef] = field(default_factory=dict)
    dead_letters: dict[str, Property] = field(default_factory=dict)  # by source
    planning_stack: list[str] = field(default_factory=list)
    datasets: DatasetResolver | None = None

    def declare(self, statement: Statement) -> None:
        if isinstance(statement, CreateSource | CreateTable | CreateStream | CreateSink):
            check_object_name(_KINDS[type(statement)], statement.name, statement.place)
            self._reject_duplicate_name(statement.name, statement.place)
        if isinstance(statement, CreateTable):
            statement = resolve_dataset(statement, self.datasets)
        if isinstance(statement, CreateSource | CreateTable):
            reject_many_columns(len(statement.columns), statement.place)
            self.dead_letters |= {
                statement.name.lower(): item
                for item in statement.properties
                if item.name == "dead_letter.sink"
            }
        if isinstance(statement, CreateSource):
            self.sources[statement.name.lower()] = build_source(statement, self.connectors)
            self.declared_sources[statement.name.lower()] = statement
        elif isinstance(statement, CreateTable):
            if is_reference_table(statement):
                found = build_reference_table(statement, self.connectors)
                self.references[statement.name.lower()] = found
            else:
                build_versioned_table(statement, self.connectors)
                self.tables[statement.name.lower()] = statement
        elif isinstance(statement, CreateStream):
            self.views[statement.name.lower()] = statement
        elif isinstance(statement, CreateSink):
            self.sinks[statement.name.lower()] = build_sink_definition(statement, self.connectors)

    def plan(self, query: Query) -> PlannedQuery:
        return self._planner(query).plan(query.tree)

    def _declare_dataset(self, statement: CreateTable) -> None:
        """Declares the table of a dataset once, even if several queries join it."""
        if statement.name.lower() not in self.references:
            self.declare(statement)

    def _planner(self, query: Query) -> QueryPlanner:
        declare_datasets(query, self.datasets, self._declare_dataset)
        sinks = [sink.name for sink in self.sinks.values()]
        return QueryPlanner(query.text, self.lookup, sinks, self.table, self.connectors)

    def lookup(self, name: str, place: Place | None) -> Source | Select:
        key = name.lower()
        if key in self.views:
            return self._view(self.views[key], place)
        if key in self.sources:
            return with_computed_columns(self.sources[key], self.declared_sources[key])
        if key in self.tables:
            raise not_supported(
                f"reading the table {name}",
                place,
                fix=f"To join its versions, write JOIN {name} FOR SYSTEM_TIME AS OF o.event_time "
                "ON …",
            )
        if key in self.references:
            raise _not_a_stream_error(self.references[key], place)
        for given_name, stream in self.given_streams.items():
            if same(given_name, name):
                return stream
        if key in self.given_tables:
            raise _not_a_stream_error(self.given_tables[key], place)
        known = [
            *(view.name for view in self.views.values()),
            *(source.name for source in self.sources.values()),
            *self.given_streams,
            *(table.name for table in self.tables.values()),
            *(table.name for table in self.references.values()),
            *(table.name for table in self.given_tables.values()),
        ]
        raise PlanError(
            "MS-PLAN-UNKNOWN-TABLE",
            f"{name} is neither a stream nor a table of this job.",
            fix=among(name, known) or "Declare it with CREATE SOURCE.",
            place=place,
        )

    def table(self, name: str) -> VersionedTable | ReferenceTable | None:
        """Returns the table with a name, or None."""
        key = name.lower()
        letters = self.dead_letters.get(key)
        sink = self.sink(letters.value, letters.value_place).name if letters else None
        if key in self.references:
            return replace(self.references[key], dead_letter=sink)
        if key in self.tables:
            table = build_versioned_table(self.tables[key], self.connectors)
            return replace(table, source=replace(table.source, dead_letter=sink))
        known = (*self.views, *self.sources, *map(str.lower, self.given_streams))
        return None if key in known else self.given_tables.get(key)

    def _view(self, view: CreateStream, place: Place | None) -> Select:
        if view.name in self.planning_stack:
            raise PlanError(
                "MS-PLAN-CYCLE",
                f"the stream {view.name} reads itself: "
                f"{' reads '.join([*self.planning_stack, view.name])}.",
                place=place,
            )
        if len(self.planning_stack) >= MAX_NESTING:
            raise PlanError(
                "MS-PLAN-SIZE",
                f"the stream {self.planning_stack[0]} reads {view.name} through more than "
                f"{MAX_NESTING} streams.",
                fix="Write intermediate results to a sink, and read them in a second job.",
                place=place,
            )
        self.planning_stack.append(view.name)
        select = self._planner(view.query).plan_inner(view.query.tree, view.place)
        self.planning_stack.pop()
        if view.watermark is not None:
            select = with_watermark(select, view.name, view.watermark)
        return replace(select, stream=view.name)

    def sink(self, name: str, place: Place | None) -> SinkDef:
        found = self.sinks.get(name.lower())
        if found is None:
            known = [sink.name for sink in self.sinks.values()]
            raise PlanError(
                "MS-PLAN-UNKNOWN-SINK",
                f"{name} is not a sink of this job.",
                fix=nearest(name, known) or f"Declare it with CREATE SINK {name} WITH (…).",
                place=place,
            )
        return found

    def resolve_dead_letters(self) -> None:
        """Resolves the sinks of dead letters, which may be declared after the sources."""
        for source, item in self.dead_letters.items():
            sink = self.sink(item.value, item.value_place)
            if source in self.sources:
                self.sources[source] = replace(self.sources[source], dead_letter=sink.name)

    def check_side_outputs(self, job: Job) -> None:
        """Rejects a sink of late rows or dead letters to which a query writes, too."""
        written = {pipeline.sink.name for pipeline in job.pipelines}
        for item in self.dead_letters.values():
            name = self.sink(item.value, item.place).name
            _reject_written(written, name, "dead letters", item.place)
        for pipeline in job.pipelines:
            _reject_written(written, pipeline.errors.sink, "dead letters", pipeline.root.place)
            for operator in operators_of(pipeline.root):
                _reject_written(written, operator.late.sink, "late rows", operator.place)

    def _reject_duplicate_name(self, name: str, place: Place) -> None:
        for known in (self.sources, self.views, self.tables, self.references, self.sinks):
            if name.lower() in known:
                raise PlanError("MS-PLAN-DUPLICATE-NAME", f"{name} is declared twice.", place=place)


def _reject_written(written: set[str], sink: str | None, what: str, place: Place | None) -> None:
    if sink in written:
        raise PlanError(
            "MS-PLAN-SHARED-SINK",
            f"{what} and a query both write to the sink {sink}.",
            fix=f"Give {what} a sink of their own.",
            place=place,
        )


def _not_a_stream_error(table: ReferenceTable, place: Place | None) -> PlanError:
    name = table.name
    return PlanError(
        "MS-PLAN-TABLE",
        f"{name} is a table, and a query needs a stream first in FROM.",
        fix=f"Join it to a stream: FROM orders o JOIN {name} ON …, or declare {name} as a SOURCE "
        "to "
        "read it as a stream.",
        place=place,
    )
