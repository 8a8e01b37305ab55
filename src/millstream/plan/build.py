"""From text to plan: `build_job` for a file of statements, `build_query` for one SELECT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millstream.errors import Place, PlanError, SqlError
from millstream.plan.names import nearest, same
from millstream.plan.nodes import (
    Column,
    Engine,
    Job,
    Pipeline,
    Select,
    SinkDef,
    Source,
)
from millstream.plan.query import Planned, Planner
from millstream.plan.refuse import not_yet
from millstream.sql.parse import parse
from millstream.sql.properties import Where, check
from millstream.sql.statements import (
    CreateSink,
    CreateSource,
    CreateStream,
    CreateTable,
    InsertInto,
    Property,
    Query,
    SelectStatement,
    SetProperty,
    Statement,
)
from millstream.temporal import Malformed, MissingTime, Watermark

_LATER_CONNECTORS = ("kafka", "jdbc")
_OWN_SOURCE_PROPERTIES = ("connector", "event.missing", "malformed", "dead_letter.sink")


def build_job(
    text: str,
    *,
    variables: Mapping[str, str] | None = None,
    sources: Mapping[str, Source] | None = None,
) -> Job:
    """The job that a text describes. `sources` are those that the text need not declare."""
    statements = parse(text, variables)
    catalog = _Catalog(given=dict(sources or {}))
    for statement in statements:
        catalog.declare(statement)
    catalog.check_dead_letters()
    settings = _settings(statements)
    pipelines = []
    for statement in statements:
        feed = _feed(statement)
        if feed is None:
            continue
        name, query = feed
        sink = catalog.sink(name, statement.place)
        catalog.feed(sink, statement.place)
        engine = Engine(dict(settings).get("engine", "auto").lower())
        pipelines.append(_pipeline(sink, catalog.plan(query), engine))
    if not pipelines:
        raise PlanError(
            "MS-PLAN-NO-QUERY",
            "no query of the text writes to a sink.",
            fix="Add CREATE SINK name WITH (…) AS SELECT …, or INSERT INTO name SELECT …",
        )
    job = Job(tuple(pipelines), tuple(catalog.sinks.values()), settings)
    catalog.check_late_sinks(job)
    return job


def build_query(
    select_text: str,
    sources: Mapping[str, Source],
    *,
    variables: Mapping[str, str] | None = None,
) -> Pipeline:
    """One SELECT over the given sources; its rows go back to Python as a data frame."""
    statements = parse(select_text, variables)
    if len(statements) != 1 or not isinstance(statements[0], SelectStatement):
        raise SqlError(
            "MS-SQL-STATEMENT",
            "exactly one SELECT is expected here.",
            fix="A text with other statements is a job.",
            place=statements[-1].place if statements else None,
        )
    catalog = _Catalog(given=dict(sources))
    sink = SinkDef("result", "dataframe")
    return _pipeline(sink, catalog.plan(statements[0].query), Engine.AUTO)


def _pipeline(sink: SinkDef, planned: Planned, engine: Engine) -> Pipeline:
    return Pipeline(sink.name, planned.select, sink, planned.emit, planned.engine or engine)


def _feed(statement: Statement) -> tuple[str, Query] | None:
    """The sink and the query of a statement that makes a pipeline."""
    if isinstance(statement, InsertInto):
        return statement.sink, statement.query
    if isinstance(statement, CreateSink) and statement.query:
        return statement.name, statement.query
    if isinstance(statement, SelectStatement):
        raise PlanError(
            "MS-PLAN-NO-SINK",
            "the rows of this SELECT go nowhere.",
            fix="Write CREATE SINK name WITH (…) AS before it, or INSERT INTO name.",
            place=statement.place,
        )
    return None


def _settings(statements: Sequence[Statement]) -> tuple[tuple[str, str], ...]:
    """The job's settings; a later SET of a name wins."""
    items = [s.property for s in statements if isinstance(s, SetProperty)]
    settings: dict[str, str] = {}
    for item in items:
        settings |= {name: found.value for name, found in check(Where.JOB, (item,)).items()}
    return tuple(settings.items())


@dataclass(slots=True)
class _Catalog:
    """The names of a job: sources, views, tables and sinks. Letter case does not matter."""

    given: dict[str, Source] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    views: dict[str, CreateStream] = field(default_factory=dict)
    tables: dict[str, CreateTable] = field(default_factory=dict)
    sinks: dict[str, SinkDef] = field(default_factory=dict)
    fed: set[str] = field(default_factory=set)
    planning: list[str] = field(default_factory=list)

    def declare(self, statement: Statement) -> None:
        if isinstance(statement, CreateSource | CreateTable | CreateStream | CreateSink):
            self._refuse_second(statement.name, statement.place)
        if isinstance(statement, CreateSource):
            self.sources[statement.name.lower()] = _source(statement)
        elif isinstance(statement, CreateTable):
            check(Where.TABLE, statement.properties)
            self.tables[statement.name.lower()] = statement
        elif isinstance(statement, CreateStream):
            self.views[statement.name.lower()] = statement
        elif isinstance(statement, CreateSink):
            self.sinks[statement.name.lower()] = _sink(statement)

    def plan(self, query: Query) -> Planned:
        sinks = [sink.name for sink in self.sinks.values()]
        return Planner(query.text, self.lookup, sinks).plan(query.tree)

    def lookup(self, name: str, place: Place | None) -> Source | Select:
        key = name.lower()
        if key in self.views:
            return self._view(self.views[key], place)
        if key in self.sources:
            return self.sources[key]
        if key in self.tables:
            raise not_yet(f"reading the table {name}", place)
        for given, source in self.given.items():
            if same(given, name):
                return source
        known = [
            *(view.name for view in self.views.values()),
            *(source.name for source in self.sources.values()),
            *self.given,
        ]
        raise PlanError(
            "MS-PLAN-UNKNOWN-TABLE",
            f"{name} is not a stream of this job.",
            fix=nearest(name, known) or "Declare it with CREATE SOURCE.",
            place=place,
        )

    def _view(self, view: CreateStream, place: Place | None) -> Select:
        if view.name in self.planning:
            raise PlanError(
                "MS-PLAN-CYCLE",
                f"the stream {view.name} is made of itself: "
                f"{' reads '.join([*self.planning, view.name])}.",
                place=place,
            )
        self.planning.append(view.name)
        planned = self.plan(view.query)
        self.planning.pop()
        if planned.engine is not None:
            raise PlanError(
                "MS-PLAN-ENGINE",
                f"'engine' stands on the stream {view.name}.",
                fix="Put it on the query that writes to the sink, or SET it for the job.",
                place=view.place,
            )
        return planned.select

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

    def feed(self, sink: SinkDef, place: Place | None) -> None:
        if sink.name in self.fed:
            raise PlanError(
                "MS-PLAN-SHARED-SINK",
                f"more than one query writes to the sink {sink.name}.",
                fix="Give each query a sink of its own.",
                place=place,
            )
        self.fed.add(sink.name)

    def check_dead_letters(self) -> None:
        for source in self.sources.values():
            if source.dead_letter is not None:
                self.sink(source.dead_letter, source.place)

    def check_late_sinks(self, job: Job) -> None:
        from millstream.plan.walk import joins_of

        for pipeline in job.pipelines:
            for join in joins_of(pipeline.root):
                if join.late.sink in self.fed:
                    raise PlanError(
                        "MS-PLAN-SHARED-SINK",
                        f"late rows and a query both write to the sink {join.late.sink}.",
                        fix="Give late rows a sink of their own.",
                        place=join.place,
                    )

    def _refuse_second(self, name: str, place: Place) -> None:
        for known in (self.sources, self.views, self.tables, self.sinks):
            if name.lower() in known:
                raise PlanError(
                    "MS-PLAN-DUPLICATE-NAME", f"{name} is declared twice.", place=place
                )


def _source(statement: CreateSource) -> Source:
    properties = check(Where.SOURCE, statement.properties)
    connector = _connector(properties, "memory")
    if idle := properties.get("idle.timeout"):
        raise not_yet("'idle.timeout'", idle.place)
    columns = tuple(Column(column.name, column.type) for column in statement.columns)
    _refuse_second_column(statement)
    dead_letter = properties.get("dead_letter.sink")
    return Source(
        name=statement.name,
        columns=columns,
        watermark=_watermark(statement),
        connector=connector,
        options=_options(properties, _OWN_SOURCE_PROPERTIES),
        missing_time=MissingTime(_value(properties, "event.missing", MissingTime.ERROR)),
        malformed=Malformed(_value(properties, "malformed", Malformed.DEAD_LETTER)),
        dead_letter=dead_letter.value if dead_letter else None,
        place=statement.place,
    )


def _watermark(statement: CreateSource) -> Watermark | None:
    given = statement.watermark
    if given is None:
        return None
    column = next((c for c in statement.columns if same(c.name, given.column)), None)
    if column is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"{statement.name} has no column {given.column}, which the watermark names.",
            fix=nearest(given.column, [c.name for c in statement.columns]),
            place=given.place,
        )
    if not column.type.upper().startswith("TIMESTAMP"):
        raise PlanError(
            "MS-PLAN-TIME-TYPE",
            f"the watermark's column {column.name} is {column.type}, not TIMESTAMP.",
            fix=f"Declare {column.name} TIMESTAMP.",
            place=given.place,
        )
    return Watermark(column.name, given.delay)


def _refuse_second_column(statement: CreateSource) -> None:
    seen: set[str] = set()
    for column in statement.columns:
        if column.name.lower() in seen:
            raise PlanError(
                "MS-PLAN-DUPLICATE-COLUMN",
                f"{statement.name} has more than one column called {column.name}.",
                place=column.place,
            )
        seen.add(column.name.lower())


def _sink(statement: CreateSink) -> SinkDef:
    properties = check(Where.SINK, statement.properties)
    connector = _connector(properties, "memory")
    return SinkDef(
        statement.name, connector, _options(properties, ("connector",)), statement.place
    )


def _connector(properties: Mapping[str, Property], default: str) -> str:
    item = properties.get("connector")
    if item and item.value.lower() in _LATER_CONNECTORS:
        raise not_yet(f"the connector {item.value.lower()}", item.value_place)
    return item.value.lower() if item else default


def _value(properties: Mapping[str, Property], name: str, default: str) -> str:
    return properties[name].value.lower() if name in properties else default


def _options(
    properties: Mapping[str, Property], own: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    return tuple((name, item.value) for name, item in properties.items() if name not in own)
