"""What must be true of a plan, and what follows from it: how long rows are held, where they go,
which engine runs them, and how far the result's watermark lags. `explain` prints these facts.

How long a row is held. A pair satisfies `left + lower <= right <= left + upper`, and a row that is
not late is not older than the watermark W. So a left row at t can meet a new partner while
W <= t + upper, a right row while W <= t - lower; after that it is let go.

The hold of a join. Its result's watermark must not pass a row that is still to come out. A pair
comes out when its later row arrives, which is at W or after:

    left row arrives    left time >= W                    right time >= left + lower >= W + lower
    right row arrives   left time >= right - upper >= W - upper            right time >= W
    left row unmatched  comes out once W > t + upper, so one that has not has t >= W - upper
    right row unmatched comes out once W > t - lower, so one that has not has t >= W + lower

Hence a result with the left time lags by max(upper, 0), with the right time by max(-lower, 0), for
inner and outer joins alike. No microsecond is added: a row at the watermark is in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from millstream.errors import PlanError
from millstream.plan.names import quote
from millstream.plan.nodes import (
    Engine,
    Input,
    IntervalJoin,
    Job,
    JoinType,
    Node,
    Pipeline,
    Select,
    Source,
)
from millstream.plan.walk import joins_of
from millstream.temporal import LateAction, format_span


@dataclass(frozen=True, slots=True)
class Strategy:
    """How rows are spread over the workers."""

    kind: Literal["hash", "passthrough"]
    key: str | None = None

    def __str__(self) -> str:
        return f"hash by {self.key}" if self.key else "passthrough: rows stay where they are read"


@dataclass(frozen=True, slots=True)
class SideFacts:
    """One side of a join: `shift` after its own time no new partner can come for a row."""

    name: str
    alias: str
    time: str
    delay: int
    shift: int
    retention: int | None

    @property
    def held(self) -> int:
        """How long after its own time a row stays in state."""
        return max(self.shift, self.retention if self.retention is not None else self.shift)

    @property
    def why(self) -> str:
        until = f"the watermark passes {moved(self.time, self.shift)}"
        if self.held == self.shift:
            return f"{self.name} rows are held until {until}, the last time a partner can carry"
        return (
            f"{self.name} rows are held until the watermark passes {moved(self.time, self.held)}, "
            f"as 'join.retention' asks; the last time a partner can carry is "
            f"{moved(self.time, self.shift)}"
        )

    @property
    def state(self) -> str:
        """Estimated state while both streams keep pace."""
        return f"rows of {format_span(max(self.held + self.delay, 0))} of {self.name}"


@dataclass(frozen=True, slots=True)
class JoinFacts:
    join: IntervalJoin
    left: SideFacts
    right: SideFacts
    strategy: Strategy
    comes_out: tuple[str, ...]

    @property
    def predicates(self) -> list[tuple[str, str]]:
        """The predicates beside key and bound, each with what or who decides it."""
        join = self.join
        what = "filters" if join.how is JoinType.INNER else "decides matching"
        told = [
            ("before", f"{text} ({what})") for text in (join.left_where, join.right_where) if text
        ]
        if join.across_sql:
            decider = "Spark" if join.only_spark else "the join"
            told.append(("on pairs", f"{join.across_sql} ({decider} decides)"))
        return told


@dataclass(frozen=True, slots=True)
class HoldFacts:
    """The event time of a Select's rows and how far its watermark lags behind the input's."""

    time: str
    hold: int

    def __str__(self) -> str:
        if self.hold == 0:
            return f"{self.time}; its watermark is that of the input"
        return f"{self.time}; its watermark is {format_span(self.hold)} behind that of the input"


@dataclass(frozen=True, slots=True)
class PipelineFacts:
    pipeline: Pipeline
    engine: Engine
    reason: str
    strategy: Strategy
    join: JoinFacts | None


def check_job(job: Job) -> tuple[PipelineFacts, ...]:
    """The facts of every pipeline; a plan that no engine can run is refused."""
    return tuple(check_pipeline(pipeline) for pipeline in job.pipelines)


def check_pipeline(pipeline: Pipeline) -> PipelineFacts:
    engine, reason = choose_engine(pipeline)
    joins = joins_of(pipeline.root)
    facts = join_facts(joins[0]) if joins else None
    strategy = facts.strategy if facts else Strategy("passthrough")
    return PipelineFacts(pipeline, engine, reason, strategy, facts)


def moved(time: str, span: int) -> str:
    """A column and a span as a sum or difference: "event_time + 24h"."""
    if span == 0:
        return time
    return f"{time} {'+' if span > 0 else '-'} {format_span(abs(span))}"


def name_of(node: Node, alias: str) -> str:
    """What a stream is called: a source by its name, anything else by its alias."""
    return node.name if isinstance(node, Source) else alias


def join_facts(join: IntervalJoin) -> JoinFacts:
    left = _side(join.left, join.bounds.upper, join.retention)
    right = _side(join.right, -join.bounds.lower, join.retention)
    key = " and ".join(f"{key.left} = {key.right}" for key in join.keys)
    return JoinFacts(join, left, right, Strategy("hash", key), _comes_out(join, left, right))


def _side(side: Input, shift: int, retention: int | None) -> SideFacts:
    name = name_of(side.node, side.alias)
    return SideFacts(name, side.alias, side.time, side.delay, shift, retention)


def _comes_out(join: IntervalJoin, left: SideFacts, right: SideFacts) -> tuple[str, ...]:
    told = []
    if join.how is JoinType.SEMI:
        told.append(f"a row of {left.name} once, when its first partner is there")
    elif join.how is not JoinType.ANTI:
        told.append("a pair when its later row arrives")
    for keeps, side in ((join.how.keeps_left, left), (join.how.keeps_right, right)):
        if keeps:
            after = moved(side.time, side.shift)
            told.append(
                f"a row of {side.name} without a partner once the watermark has passed {after}"
            )
    return tuple(told)


def hold_of(select: Select) -> HoldFacts | None:
    """The event time of the rows of a Select and the lag its own input adds, if it carries one."""
    if select.time is None:
        return None
    join = select.input
    if not isinstance(join, IntervalJoin):
        return HoldFacts(select.time, 0)
    carried = next(output.sql for output in select.outputs if output.name == select.time)
    from_left = carried == f"{quote(join.left.alias)}.{quote(join.left.time)}"
    lag = join.bounds.upper if from_left else -join.bounds.lower
    return HoldFacts(select.time, max(lag, 0))


def needed_retention(join: IntervalJoin) -> int:
    """The longest that a row of either side can have to wait for a partner."""
    return max(join.bounds.upper, -join.bounds.lower, 0)


def choose_engine(pipeline: Pipeline) -> tuple[Engine, str]:
    """The engine that runs a pipeline, and why that one."""
    joins = joins_of(pipeline.root)
    asked = pipeline.engine
    if not joins:
        reason = "the query keeps no state, so Spark runs it as it stands under either engine"
        return (Engine.NATIVE if asked is Engine.AUTO else asked), reason
    join = joins[0]
    spark_decides = join.only_spark and join.how is not JoinType.INNER
    no_native = _against_native(join)
    if asked is Engine.COLUMNAR and spark_decides:
        raise _refused(join, "columnar", _ONLY_SPARK)
    if asked is Engine.NATIVE and no_native:
        raise _refused(join, "native", no_native)
    if asked is not Engine.AUTO:
        return asked, "asked for by 'engine'"
    if not spark_decides:
        return Engine.COLUMNAR, "rows are joined by key group against columnar state"
    if no_native:
        raise PlanError(
            "MS-PLAN-ENGINE",
            f"no engine can run this join: for the columnar one, {_ONLY_SPARK}; "
            f"for the native one, {no_native}.",
            fix="Give up one of the two.",
            place=join.place,
        )
    return Engine.NATIVE, _ONLY_SPARK


_ONLY_SPARK = "only Spark can decide a predicate of ON that decides matching"


def _against_native(join: IntervalJoin) -> str:
    """Why Spark's own join cannot run this one; empty if it can."""
    if join.how is JoinType.ANTI:
        return "Spark has no LEFT ANTI join of two streams"
    if join.late.action is LateAction.SIDE_OUTPUT:
        return "Spark drops late rows before they can be put out"
    if join.limit.max_rows is not None or join.limit.max_bytes is not None:
        return "Spark cannot limit the state of a join"
    if join.retention is not None and join.retention > needed_retention(join):
        return "Spark keeps rows for as long as the bound needs, not for 'join.retention'"
    return ""


def _refused(join: IntervalJoin, engine: str, reason: str) -> PlanError:
    other = "native" if engine == "columnar" else "columnar"
    return PlanError(
        "MS-PLAN-ENGINE",
        f"the {engine} engine cannot run this join: {reason}.",
        fix=f"Leave 'engine' out, or try '{other}'.",
        place=join.place,
    )
