"""Streams with an event time, and what can be done with them.

orders = ms.stream(orders_df, time="event_time", delay="5 seconds")
shipments = ms.stream(shipments_df, time="event_time", delay="5 seconds")
joined = orders.interval_join(shipments, on="order_id", lower="0s", upper="24h", how="left")
hourly = orders.window(ms.tumbling("1 hour")).aggregate(by="customer_id", total="sum(amount)")
joined.writeStream…
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampNTZType, TimestampType

from millstream.api.aggregates import (
    SplitWindowed,
    Windowed,
    aggregate_text,
    listed,
    window_text,
    with_text,
)
from millstream.api.joins import LEFT, RIGHT, join_text, join_type, outputs_of_join, pairs_of
from millstream.api.query import KEY_GROUPS, engine_of, rows_of
from millstream.api.tables import Table
from millstream.api.tables import table as as_table
from millstream.api.values import SideOutput, emit_of, span_of, span_text
from millstream.errors import PlanError, PropertyError
from millstream.plan.build import build_query
from millstream.plan.expressions import column
from millstream.plan.facts.holds import lag_of
from millstream.plan.names.names import quote
from millstream.plan.nodes import (
    Column,
    Input,
    IntervalJoin,
    Key,
    Pipeline,
    Select,
    SinkDef,
    Source,
)
from millstream.temporal import (
    Bounds,
    LatePolicy,
    MissingTime,
    StateLimit,
    Watermark,
    Window,
)
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class Stream:
    """A streaming DataFrame whose event time is known."""

    frame: DataFrame
    time: str
    delay: int = 0
    missing: MissingTime = MissingTime.ERROR
    every: int = 1
    idle: int | None = None
    max_ahead: int | None = None
    distinct: tuple[tuple[str, ...], str] | None = None  # columns, and for how long

    def interval_join(
        self,
        other: Stream,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        lower: str,
        upper: str,
        how: str = "inner",
        suffix: str = "_right",
        limit: StateLimit = StateLimit(),
        engine: str = "auto",
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
    ) -> DataFrame:
        """Pairs with equal keys and `other`'s time in [own time + lower, own time + upper].

        `on` is a column both have, several of them, or a mapping from own columns to the other's. A
        column of the other side whose name is taken gets the `suffix`; a key of one name comes out
        once. `control` is a folder in which `end_of_input` can say that all rows have come.
        """
        pairs = pairs_of(on)
        bounds = Bounds(span_of(lower, signed=True), span_of(upper, signed=True))
        if bounds.empty:
            raise PlanError(
                "MS-PLAN-EMPTY-BOUND",
                f"the bound {bounds} is empty: its lower end is above its upper end.",
                fix="Swap lower and upper.",
            )
        join = IntervalJoin(
            left=self._input("left"),
            right=other._input("right"),
            how=join_type(how),
            keys=tuple(Key(column(LEFT, mine), column(RIGHT, theirs)) for mine, theirs in pairs),
            bounds=bounds,
            limit=limit,
        )
        outputs = outputs_of_join(join.how, join.left.used, join.right.used, pairs, suffix)
        pipeline = Pipeline(
            "result",
            Select(join, outputs),
            SinkDef("result", "dataframe"),
            engine=engine_of(engine),
        )
        frames = {"left": self.frame, "right": other.frame}
        return rows_of(pipeline, frames, control, key_groups)

    def window_join(
        self,
        other: Stream,
        window: Window,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        how: str = "inner",
        emit: str = "changes",
        lateness: str = "0s",
        suffix: str = "_right",
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
    ) -> DataFrame:
        """Pairs with equal keys in the same window: `tumbling` or `sliding`; with `session`, rows
        of sessions that meet.

        `emit` is "changes" (a pair as soon as both rows are there) or "final" (when the window
        closes). `on`, `suffix` and `control` are as in `interval_join`.
        """
        properties = {"window.lateness": span_text(lateness)} if span_of(lateness) else {}
        tail = f"{window_text(window)} EMIT {emit_of(emit).upper()}{with_text(properties)}"
        sides = (self.relation(LEFT), other.relation(RIGHT))
        return self._joined(other, sides, on, how, tail, suffix, control, key_groups)

    def temporal_join(
        self,
        versions: Stream,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        how: str = "inner",
        direction: str = "backward",
        tolerance: str | None = None,
        suffix: str = "_right",
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
    ) -> DataFrame:
        """Each row with the version of its key in force at its time: an as-of join.

        A row of `versions` is in force from its own time until the next of its key. `direction` is
        "backward" (the latest at or before the row), "forward" (the earliest at or after it) or
        "nearest"; the last two need a `tolerance`, how far from the row a version may be. `how` is
        "inner" or "left".
        """
        properties = {"temporal.direction": direction}
        if tolerance is not None:
            properties["temporal.tolerance"] = span_text(tolerance)
        right = f"{versions.relation(RIGHT)} FOR SYSTEM_TIME AS OF `left`.{quote(self.time)}"
        if versions.distinct is None:
            right += " AS `right`"
        sides = (self.relation(LEFT), right)
        tail = with_text(properties)
        return self._joined(versions, sides, on, how, tail, suffix, control, key_groups)

    def join(
        self,
        other: Stream,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        ttl: str | None,
        how: str = "inner",
        mode: str | None = None,
        suffix: str = "_right",
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
    ) -> DataFrame:
        """Pairs with equal keys, whenever they came. A row is held until the watermark is `ttl`
        past it (None: for ever).

        A row of an outer join comes out at once, and is taken back when a partner comes: such
        results carry `_OP`, as `mode` says ("retract" or "upsert").
        """
        properties = {"state.ttl": "forever" if ttl is None else span_text(ttl)}
        if join_type(how) not in (JoinType.INNER, JoinType.SEMI):
            properties["output.mode"] = mode or "retract"
        sides = (self.relation(LEFT), other.relation(RIGHT))
        tail = f"EMIT CHANGES{with_text(properties)}"
        return self._joined(other, sides, on, how, tail, suffix, control, key_groups)

    def lookup_join(
        self,
        table: Table | DataFrame,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        how: str = "inner",
        suffix: str = "_right",
    ) -> DataFrame:
        """Each row with the rows of a table that have its key, as the table is at that moment.

        The table is a static DataFrame, or what `database` gives. `how` is "inner", "left", "semi"
        or "anti".
        """
        asked = as_table(table) if isinstance(table, DataFrame) else table
        pairs, kind = pairs_of(on), join_type(how)
        outputs = outputs_of_join(kind, tuple(self.frame.columns), asked.names, pairs, suffix)
        text = join_text(self.relation(LEFT), quote(RIGHT), pairs, outputs, kind)
        sources = {LEFT: self.source(LEFT)}
        pipeline = build_query(text, sources, tables={RIGHT: asked.reference(RIGHT)})
        return rows_of(pipeline, {LEFT: self.frame}, None, KEY_GROUPS, {RIGHT: asked})

    def _joined(
        self,
        other: Stream,
        sides: tuple[str, str],
        on: str | Sequence[str] | Mapping[str, str],
        how: str,
        tail: str,
        suffix: str,
        control: str | Path | None,
        key_groups: int,
    ) -> DataFrame:
        pairs, kind = pairs_of(on), join_type(how)
        columns = tuple(self.frame.columns), tuple(other.frame.columns)
        outputs = outputs_of_join(kind, *columns, pairs, suffix)
        text = join_text(*sides, pairs, outputs, kind, tail)
        pipeline = build_query(text, {LEFT: self.source(LEFT), RIGHT: other.source(RIGHT)})
        return rows_of(pipeline, {LEFT: self.frame, RIGHT: other.frame}, control, key_groups)

    def deduplicate(self, *on: str, within: str | None) -> Stream:
        """The first row to arrive of each key; the key is known for `within` after it (None: for
        ever). What comes of it is a stream as this one is."""
        for name in on:
            _must_have(self.frame, name)
        if not on:
            raise PlanError("MS-PLAN-NO-KEY", "duplicates of what?", fix="Name the key's columns.")
        return replace(self, distinct=(on, "forever" if within is None else span_text(within)))

    def rows(self, *, control: str | Path | None = None, key_groups: int = KEY_GROUPS) -> DataFrame:
        """The stream as an ordinary DataFrame."""
        if self.distinct is None:
            return self.frame
        pipeline = build_query(f"SELECT * FROM {self.relation('stream')}", self._sources())
        return rows_of(pipeline, {"stream": self.frame}, control, key_groups)

    @overload
    def window(
        self, window: Window, *, lateness: str = "0s", late: SideOutput
    ) -> SplitWindowed: ...
    @overload
    def window(
        self, window: Window, *, lateness: str = "0s", late: LatePolicy | None = None
    ) -> Windowed: ...
    def window(
        self,
        window: Window,
        *,
        lateness: str = "0s",
        late: LatePolicy | SideOutput | None = None,
    ) -> Windowed | SplitWindowed:
        """The stream in windows of time: `tumbling`, `sliding` or `session`.

        A window stays open for `lateness` after its first result, and says what a row changed that
        came meanwhile. `late` is what becomes of rows for windows that have closed: `drop()`,
        `reassign(budget)` or `side_output(name)`.
        """
        relation, sources = self.relation("stream"), self._sources()
        made = SplitWindowed if isinstance(late, SideOutput) else Windowed
        policy = late.policy if isinstance(late, SideOutput) else late or LatePolicy()
        return made(self.frame, sources, relation, window, span_of(lateness), policy)

    def aggregate(
        self,
        *,
        by: str | Sequence[str] = (),
        ttl: str | None,
        having: str | None = None,
        mode: str = "retract",
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
        **calls: str,
    ) -> DataFrame:
        """Aggregates over all rows so far, as they change (`_OP`). A group is forgotten `ttl` after
        its last row by the watermark (None: never)."""
        kept = "forever" if ttl is None else span_text(ttl)
        text = aggregate_text(
            self.relation("stream"), listed(by), calls, having, "EMIT CHANGES",
            {"state.ttl": kept, "output.mode": mode},
        )  # fmt: skip
        pipeline = build_query(text, self._sources())
        return rows_of(pipeline, {"stream": self.frame}, control, key_groups)

    def relation(self, name: str) -> str:
        """What stands for the stream in FROM, where its source goes by `name`."""
        if self.distinct is None:
            return quote(name)
        on, within = self.distinct
        keys = ", ".join(map(quote, on))
        return (
            f"(SELECT DISTINCT ON ({keys}) * FROM {quote(name)} WITH ('state.ttl' = '{within}')) "
            f"AS {quote(name)}"
        )

    def source(self, name: str) -> Source:
        """The stream as a plan knows it."""
        columns = tuple(
            Column(field.name, field.dataType.simpleString()) for field in self.frame.schema
        )
        watermark = Watermark(self.time, self.delay, self.every)
        return Source(
            name,
            columns,
            watermark,
            missing_time=self.missing,
            idle=self.idle,
            max_ahead=self.max_ahead,
        )

    def _sources(self) -> dict[str, Source]:
        return {"stream": self.source("stream")}

    def _input(self, name: str) -> Input:
        source = self.source(name)
        used = tuple(self.frame.columns)
        if self.distinct is None:
            return Input(name, source, self.time, self.delay, used)
        node = build_query(f"SELECT * FROM {self.relation(name)}", {name: source}).root
        return Input(name, node, self.time, lag_of(node), used)


def stream(
    frame: DataFrame,
    *,
    time: str,
    delay: str = "0s",
    missing: str = "error",
    every: int = 1,
    idle: str | None = None,
    max_ahead: str | None = None,
) -> Stream:
    """A streaming DataFrame with its event time: a row may come `delay` after a later one.

    `missing` says what becomes of a row without a time: "error", "skip" or "wall_clock". The
    watermark advances at every `every`-th row. A stream that was silent for `idle` no longer holds
    others back. `max_ahead` is 'watermark.max_ahead' of a source: how far a row's time may be ahead
    of processing time. Only `millstream run` has an output for rows that are further ahead, so a
    DataFrame of this API rejects it.
    """
    _must_have(frame, time)
    _must_be_time(frame, time)
    if missing not in list(MissingTime):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"{missing!r} is no way to treat a missing time.",
            fix=f"Use one of {', '.join(MissingTime)}.",
        )
    if every < 1:
        raise PropertyError(
            "MS-PROP-VALUE",
            f"a watermark cannot advance at every {every!r} rows.",
            fix="Give a whole number, 1 or more.",
        )
    waits = None if idle is None else span_of(idle)
    ahead = None if max_ahead is None else span_of(max_ahead)
    return Stream(frame, time, span_of(delay), MissingTime(missing), every, waits, ahead)


def _must_have(frame: DataFrame, column: str) -> None:
    if column not in frame.columns:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"the stream has no column {column!r}.",
            fix=f"It has {', '.join(frame.columns)}.",
        )


def _must_be_time(frame: DataFrame, column: str) -> None:
    kind = frame.schema[column].dataType
    if not isinstance(kind, TimestampType | TimestampNTZType):
        raise PlanError(
            "MS-PLAN-TIME-TYPE",
            f"the time {column!r} is {kind.simpleString()}, not a timestamp.",
            fix=f'Make it one: df.withColumn("{column}", F.to_timestamp("{column}")).',
        )
