"""The plan: frozen nodes that SQL and Python share. Expressions are Spark SQL; Spark runs them.

    Job ── Pipeline ── Select ──┬── Source
              │                 ├── Select            (a view, a subquery)
              └─ SinkDef        └── IntervalJoin ──┬── Input ── Source | Select
                                                   └── Input ── Source | Select

A join offers its users two columns, each a struct named as the side's alias, so that `o.total` and
`o.*` mean in Spark what they mean in the query.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from millstream.errors import Place
from millstream.temporal import (
    Bounds,
    Emit,
    LatePolicy,
    Malformed,
    MissingTime,
    StateLimit,
    Watermark,
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column; its type is Spark SQL text, or None where only Spark's analysis can tell it."""

    name: str
    type: str | None = None


class JoinType(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def keeps_left(self) -> bool:
        """Do left rows come out without a partner?"""
        return self in (JoinType.LEFT, JoinType.FULL, JoinType.ANTI)

    @property
    def keeps_right(self) -> bool:
        return self in (JoinType.RIGHT, JoinType.FULL)

    @property
    def left_only(self) -> bool:
        """Are the output's columns those of the left side alone?"""
        return self in (JoinType.SEMI, JoinType.ANTI)


class Engine(StrEnum):
    AUTO = "auto"
    COLUMNAR = "columnar"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that comes in, by a connector or, with the kind "dataframe", from Python."""

    name: str
    columns: tuple[Column, ...]
    watermark: Watermark | None = None
    connector: str = "dataframe"
    options: tuple[tuple[str, str], ...] = ()
    missing_time: MissingTime = MissingTime.ERROR
    malformed: Malformed = Malformed.DEAD_LETTER
    dead_letter: str | None = None
    place: Place | None = field(default=None, compare=False)

    @property
    def time(self) -> str | None:
        return self.watermark.column if self.watermark else None

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Output:
    """One column of a SELECT: its Spark SQL text and the name it gets."""

    sql: str
    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """Projection and filter, run by Spark. Inside its texts the input goes by `alias`.

    Over a join, `alias` is None: the texts speak of the join's two struct columns.
    """

    input: Node
    outputs: tuple[Output, ...]
    where: str | None = None
    alias: str | None = None
    time: str | None = None  # the output that carries the input's event time, if one does
    place: Place | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(output.name, output.type) for output in self.outputs)


@dataclass(frozen=True, slots=True)
class Input:
    """One side of a join: a stateless stream under the alias its users call it by."""

    alias: str
    node: Source | Select
    time: str
    delay: int
    used: tuple[str, ...]  # columns that the join's users read; others need not be held


@dataclass(frozen=True, slots=True)
class Key:
    """An equality of the join: one Spark SQL text a side, over that side's alias."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison across the sides: left text, operator, right text. NULL as in SQL."""

    left: str
    op: Literal["=", "<>", "<", "<=", ">", ">="]
    right: str


@dataclass(frozen=True, slots=True)
class Logic:
    """AND / OR / NOT of comparisons, in SQL's three-valued logic."""

    op: Literal["and", "or", "not"]
    terms: tuple[Predicate, ...]


Predicate = Compare | Logic


@dataclass(frozen=True, slots=True)
class IntervalJoin:
    """`right.time` in [left.time + lower, left.time + upper], keys equal, predicates true."""

    left: Input
    right: Input
    how: JoinType
    keys: tuple[Key, ...]
    bounds: Bounds
    left_where: str | None = None  # predicates of ON over one side alone: they decide matching
    right_where: str | None = None
    across: Predicate | None = None  # predicates of ON over both sides that a kernel can decide
    across_sql: str | None = None  # the same, and what only Spark can decide, as text
    only_spark: bool = False  # does across_sql say more than `across`?
    late: LatePolicy = LatePolicy()
    retention: int | None = None
    limit: StateLimit = StateLimit()
    place: Place | None = field(default=None, compare=False)


Node = Source | Select | IntervalJoin


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


@dataclass(frozen=True, slots=True)
class Job:
    """All pipelines of a file, the sinks that side outputs may name, and the job's settings."""

    pipelines: tuple[Pipeline, ...]
    sinks: tuple[SinkDef, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    def sink(self, name: str) -> SinkDef | None:
        return next((sink for sink in self.sinks if sink.name == name), None)

    def setting(self, name: str, default: str = "") -> str:
        return dict(self.settings).get(name, default)
