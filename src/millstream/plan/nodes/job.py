"""Queries with their sinks: what a file asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from millstream.errors import Place
from millstream.plan.nodes.streams import Select
from millstream.plan.nodes.values import Engine
from millstream.roles import Neither, Only, OutputOnly, Role, State
from millstream.sql.text import SourceText
from millstream.temporal import Emit, OutputMode


@dataclass(frozen=True, slots=True)
class SinkDef:
    """Where rows go: a connector with its options."""

    name: State[str]
    connector: State[str]
    options: Annotated[tuple[tuple[str, str], ...], Role.STATE, Only(("path", "format"))] = ()
    place: Neither[Place | None] = field(default=None, compare=False)

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One query and the sink it feeds; one streaming query in Spark."""

    name: Neither[str]
    root: State[Select]
    sink: State[SinkDef]
    emit: OutputOnly[Emit | None] = None
    engine: Neither[Engine] = Engine.AUTO
    mode: State[OutputMode] = OutputMode.APPEND  # anything else shows `_op`
    # of its query
    span: Neither[tuple[int, int] | None] = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Job:
    """All pipelines of a file, the sinks that side outputs may name, and the job's settings."""

    pipelines: State[tuple[Pipeline, ...]]
    sinks: Neither[tuple[SinkDef, ...]] = ()
    settings: Neither[tuple[tuple[str, str], ...]] = ()
    text: Neither[SourceText | None] = field(default=None, repr=False, compare=False)

    def sink(self, name: str) -> SinkDef | None:
        return next((sink for sink in self.sinks if sink.name == name), None)

    def setting(self, name: str, default: str = "") -> str:
        return dict(self.settings).get(name, default)
