"""Jobs, queries, pipelines and sinks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated

from millstream.errors import Place
from millstream.field_roles import Neither, OptionNames, OutputOnly, Role, State
from millstream.plan.nodes.streams import Select
from millstream.plan.nodes.values import Engine
from millstream.sql.text import SourceText
from millstream.temporal import Emit, ErrorPolicy, OutputMode

# options of sinks that output depends on, whose changes a run reports
SINK_OPTIONS = (
    *("path", "format", "partition.by", "table", "topic"),
    *("header", "delimiter", "quote", "escape", "null.value", "compression", "timestamp.format"),
)


@dataclass(frozen=True, slots=True)
class SinkDef:
    """A sink: a connector with its options."""

    name: State[str]
    connector: State[str]
    options: Annotated[tuple[tuple[str, str], ...], Role.STATE, OptionNames(SINK_OPTIONS)] = ()
    place: Neither[Place | None] = field(default=None, compare=False)

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One SELECT and the sink that it writes to: an output of a query."""

    name: Neither[str]
    root: State[Select]
    sink: State[SinkDef]
    emit: OutputOnly[Emit | None] = None
    engine: Neither[Engine] = Engine.AUTO
    mode: State[OutputMode] = OutputMode.APPEND  # other modes add the column `_op`
    errors: OutputOnly[ErrorPolicy] = ErrorPolicy()  # of rows for which an expression fails
    # Position of its SELECT in the job's SQL: offsets of the first and last character.
    span: Neither[tuple[int, int] | None] = field(default=None, repr=False, compare=False)
    # Of a UNION ALL above the last operator, one of which each pipeline writes: number and count.
    branch: Neither[tuple[int, int] | None] = None


@dataclass(frozen=True, slots=True)
class Query:
    """The outputs that one Spark streaming query computes and writes together.

    Pipelines that read the same CREATE STREAM or write to the same sink are in one query, except
    that a query on the native engine has one operator (`plan.build.query_groups`).
    `plan.facts.output_groups` finds the operators that are computed once.
    """

    outputs: State[tuple[Pipeline, ...]]

    @property
    def name(self) -> str:
        """The name of the checkpoint folder, which is the name of the first output."""
        return self.outputs[0].name

    @property
    def output_names(self) -> tuple[str, ...]:
        """A name per output: its sink, with a number if it is not the sink's first output."""
        count: Counter[str] = Counter()
        names = []
        for output in self.outputs:
            count[output.sink.name] += 1
            number = count[output.sink.name]
            names.append(output.sink.name if number == 1 else f"{output.sink.name} {number}")
        return tuple(names)

    @property
    def sinks(self) -> tuple[SinkDef, ...]:
        """The distinct sinks of its outputs."""
        return tuple({output.sink.name: output.sink for output in self.outputs}.values())

    @property
    def errors(self) -> ErrorPolicy:
        """What happens to rows for which an expression fails; the same for all outputs."""
        return self.outputs[0].errors

    @property
    def title(self) -> str:
        """The name in progress and errors: the names of all sinks."""
        return ", ".join(sink.name for sink in self.sinks)


@dataclass(frozen=True, slots=True)
class Job:
    """The pipelines of a job, the sinks that side outputs can name, and the job's settings."""

    pipelines: State[tuple[Pipeline, ...]]
    sinks: Neither[tuple[SinkDef, ...]] = ()
    settings: Neither[tuple[tuple[str, str], ...]] = ()
    text: Neither[SourceText | None] = field(default=None, repr=False, compare=False)

    def sink(self, name: str) -> SinkDef | None:
        return next((sink for sink in self.sinks if sink.name == name), None)

    def setting(self, name: str, default: str = "") -> str:
        return dict(self.settings).get(name, default)
