"""Sources, SELECTs, and inputs of operators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.errors import Place
from millstream.field_roles import Micros, Neither, OutputOnly, State
from millstream.plan.nodes.values import Column, Output
from millstream.temporal import MalformedAction, MissingTime, Watermark

if TYPE_CHECKING:
    from millstream.plan.expressions import Expression
    from millstream.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that a connector reads; with the connector "dataframe", a DataFrame of Python."""

    name: State[str]
    columns: State[tuple[Column, ...]]
    watermark: State[Watermark | None] = None
    connector: State[str] = "dataframe"
    options: Neither[tuple[tuple[str, str], ...]] = ()
    missing_time: OutputOnly[MissingTime] = MissingTime.ERROR
    malformed: OutputOnly[MalformedAction] = MalformedAction.DEAD_LETTER
    dead_letter: OutputOnly[str | None] = None
    # after how long without rows the watermark does not wait for the source
    idle: OutputOnly[Micros | None] = None
    # how far event time can be ahead of processing time; 0: no limit, None: the run's default
    max_ahead: OutputOnly[Micros | None] = None
    # Whether its rows are changes, some of which retract earlier rows. Operators over changes
    # declare that their state depends on it.
    retracts: Neither[bool] = False
    # The columns by which a row replaces an earlier one, by which `plan.build.upsert_source` makes
    # the stream a changelog.
    upsert_key: Neither[tuple[str, ...]] = ()
    # Those that the connector declares: their names, and the columns of the stream.
    system_columns: Neither[tuple[tuple[str, str], ...]] = field(default=(), compare=False)
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def time(self) -> str | None:
        return self.watermark.column if self.watermark else None

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Select:
    """A projection and filter that Spark runs. Its expressions refer to the input as `alias`.

    Over a join, `alias` is None: the expressions read the join's two struct columns.
    """

    input: State[Node]
    outputs: State[tuple[Output, ...]]
    where: State[Expression | None] = None
    alias: Neither[str | None] = None
    time: Neither[str | None] = None  # the output that carries the input's event time, if any
    window: Neither[tuple[str, str] | None] = None  # outputs that carry a window's start and end
    place: Neither[Place | None] = field(default=None, compare=False)
    stream: Neither[str | None] = field(default=None, compare=False)  # its CREATE STREAM
    # of CREATE STREAM; the operator that reads it has column and delay in its state
    watermark: Neither[Watermark | None] = None
    # the source itself with more columns: computed columns, system columns
    is_source: Neither[bool] = field(default=False, compare=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(output.name, output.type) for output in self.outputs)


@dataclass(frozen=True, slots=True)
class UnionAll:
    """All rows of several streams with the same columns.

    Above an operator's input or a sink, `plan.build.union_branches` moves the steps that read it
    into its branches, so that each branch is read, packed and counted by itself.
    """

    inputs: State[tuple[Select, ...]]
    time: Neither[str | None] = None  # the column that is the event time of every input, if any
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.inputs[0].columns

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Input:
    """An input of an operator: a stream with the alias that the operator's expressions use."""

    alias: State[str]
    node: State[Source | Select]
    time: State[str | None]  # None: the operator needs no event time, or uses processing time
    # watermark delay: of the source, or of the results below behind their input
    delay: Neither[Micros]
    used: State[tuple[str, ...]]  # columns of the operator's output; others are not in state
    progress: State[str | None] = None  # the column that advances the watermark, if not `time`
