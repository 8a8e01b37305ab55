"""What comes in, and what is stateless: a source, a SELECT, an input of an operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.errors import Place
from millstream.field_roles import Micros, Neither, OutputOnly, State
from millstream.plan.nodes.values import Column, Output
from millstream.temporal import Malformed, MissingTime, Watermark

if TYPE_CHECKING:
    from millstream.plan.expressions import Expression
    from millstream.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that comes in, by a connector or, with the kind "dataframe", from Python."""

    name: State[str]
    columns: State[tuple[Column, ...]]
    watermark: State[Watermark | None] = None
    connector: State[str] = "dataframe"
    options: Neither[tuple[tuple[str, str], ...]] = ()
    missing_time: OutputOnly[MissingTime] = MissingTime.ERROR
    malformed: OutputOnly[Malformed] = Malformed.DEAD_LETTER
    dead_letter: OutputOnly[str | None] = None
    # silent for so long, the source no longer holds the watermark back
    idle: OutputOnly[Micros | None] = None
    # of event to processing time; 0: off, None: the run's default
    max_ahead: OutputOnly[Micros | None] = None
    # Name and SQL of system columns that the connector declares.
    system_columns: Neither[tuple[tuple[str, str], ...]] = field(default=(), compare=False)
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def time(self) -> str | None:
        return self.watermark.column if self.watermark else None

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Select:
    """Projection and filter, run by Spark. Inside its expressions the input goes by `alias`.

    Over a join, `alias` is None: the expressions speak of the join's two struct columns.
    """

    input: State[Node]
    outputs: State[tuple[Output, ...]]
    where: State[Expression | None] = None
    alias: Neither[str | None] = None
    time: Neither[str | None] = None  # the output that carries the input's event time, if one does
    window: Neither[tuple[str, str] | None] = None  # outputs that carry a window's start and end
    place: Neither[Place | None] = field(default=None, compare=False)
    stream: Neither[str | None] = field(default=None, compare=False)  # its CREATE STREAM

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(output.name, output.type) for output in self.outputs)


@dataclass(frozen=True, slots=True)
class Input:
    """What an operator reads: a stream under the alias its users call it by."""

    alias: State[str]
    node: State[Source | Select]
    time: State[str | None]  # None: the operator needs no event time, or goes by the wall clock
    # of the source; of a stream of results, how far they lag behind their input
    delay: State[Micros]
    used: State[tuple[str, ...]]  # columns that the operator's users read; others need not be held
    progress: State[str | None] = None  # the column that moves the watermark, if it is not `time`
