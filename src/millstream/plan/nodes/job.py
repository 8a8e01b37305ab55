"""Queries with their sinks: what a file asks for."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.errors import Place
from millstream.plan.nodes.streams import Select
from millstream.plan.nodes.values import Engine
from millstream.sql.text import SourceText
from millstream.temporal import Emit, OutputMode


@dataclass(frozen=True, slots=True)
class SinkDef:
    """Where rows go: a connector with its options."""

    name: str
    connector: str
    options: tuple[tuple[str, str], ...] = ()
    place: Place | None = field(default=None, compare=False)

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One query and the sink it feeds; one streaming query in Spark."""

    name: str
    root: Select
    sink: SinkDef
    emit: Emit | None = None
    engine: Engine = Engine.AUTO
    mode: OutputMode = OutputMode.APPEND  # anything else shows `_op`
    span: tuple[int, int] | None = field(default=None, repr=False, compare=False)  # of its query


@dataclass(frozen=True, slots=True)
class Job:
    """All pipelines of a file, the sinks that side outputs may name, and the job's settings."""

    pipelines: tuple[Pipeline, ...]
    sinks: tuple[SinkDef, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    text: SourceText | None = field(default=None, repr=False, compare=False)

    def sink(self, name: str) -> SinkDef | None:
        return next((sink for sink in self.sinks if sink.name == name), None)

    def setting(self, name: str, default: str = "") -> str:
        return dict(self.settings).get(name, default)
