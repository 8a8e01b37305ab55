"""The Python API: event-time joins of streaming DataFrames, giving ordinary streaming DataFrames.

orders = ms.stream(orders_df, time="event_time", delay="5 seconds")
shipments = ms.stream(shipments_df, time="event_time", delay="5 seconds")
joined = orders.interval_join(shipments, on="order_id", lower="0s", upper="24h", how="left")
joined.writeStream…
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from millstream.errors import PlanError, PropertyError
from millstream.observe.account import Account, of_join
from millstream.plan.build import build_query
from millstream.plan.check import check_pipeline, choose_engine
from millstream.plan.nodes import (
    Column,
    Engine,
    Input,
    IntervalJoin,
    JoinType,
    Key,
    Output,
    Pipeline,
    Select,
    SinkDef,
    Source,
)
from millstream.plan.walk import joins_of
from millstream.spark.compile import compile_pipeline
from millstream.spark.control import end_of_input as _say_end
from millstream.spark.ports import OBSERVED, observed_stats
from millstream.temporal import Bounds, LateAction, MissingTime, StateLimit, Watermark, parse_span

KEY_GROUPS = 8  # state is kept by key group, so their number must not change between two runs
_WATERMARK = "spark.watermarkDelayMs"


@dataclass(frozen=True, slots=True)
class Stream:
    """A streaming DataFrame whose event time is known."""

    frame: DataFrame
    time: str
    delay: int = 0
    missing: MissingTime = MissingTime.ERROR

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
        pairs = _pairs(on)
        left, right = self.source("left"), other.source("right")
        bounds = Bounds(parse_span(lower), parse_span(upper))
        if bounds.empty:
            raise PlanError(
                "MS-PLAN-EMPTY-BOUND",
                f"the bound {bounds} is empty: its lower end is above its upper end.",
                fix="Swap lower and upper.",
            )
        join = IntervalJoin(
            left=Input("left", left, self.time, self.delay, tuple(self.frame.columns)),
            right=Input("right", right, other.time, other.delay, tuple(other.frame.columns)),
            how=_join_type(how),
            keys=tuple(Key(f"left.`{mine}`", f"right.`{theirs}`") for mine, theirs in pairs),
            bounds=bounds,
            limit=limit,
        )
        outputs = _outputs(join, pairs, suffix)
        pipeline = Pipeline(
            "result", Select(join, outputs), SinkDef("result", "dataframe"), engine=_engine(engine)
        )
        frames = {"left": self.frame, "right": other.frame}
        return _rows(pipeline, frames, control, key_groups)

    def source(self, name: str) -> Source:
        """The stream as a plan knows it."""
        columns = tuple(
            Column(field.name, field.dataType.simpleString()) for field in self.frame.schema
        )
        return Source(name, columns, Watermark(self.time, self.delay), missing_time=self.missing)


def stream(frame: DataFrame, *, time: str, delay: str = "0s", missing: str = "error") -> Stream:
    """A streaming DataFrame with its event time: a row may come `delay` after a later one.

    `missing` says what becomes of a row without a time: "error", "skip" or "wall_clock".
    """
    _must_have(frame, time)
    if missing not in list(MissingTime):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"{missing!r} is no way to treat a missing time.",
            fix=f"Use one of {', '.join(MissingTime)}.",
        )
    return Stream(frame, time, parse_span(delay), MissingTime(missing))


def sql(
    text: str,
    *,
    control: str | Path | None = None,
    engine: str = "auto",
    key_groups: int = KEY_GROUPS,
    **streams: DataFrame | Stream,
) -> DataFrame:
    """One SELECT of Millstream's SQL over streams that go by the names of the keyword arguments.

    A stream's event time is that of `stream(…)`, or of Spark's `withWatermark`.
    """
    known = {name: _as_stream(given) for name, given in streams.items()}
    sources = {
        name: each.source(name)
        if isinstance(each, Stream)
        else Source(name, tuple(Column(f.name, f.dataType.simpleString()) for f in each.schema))
        for name, each in known.items()
    }
    pipeline = build_query(text, sources)
    if engine != "auto":
        pipeline = replace(pipeline, engine=_engine(engine))
    frames = {
        name: each.frame if isinstance(each, Stream) else each for name, each in known.items()
    }
    return _rows(pipeline, frames, control, key_groups)


def end_of_input(control: str | Path) -> None:
    """Say, in the `control` folder of a query, that all rows have come: what is held comes out."""
    _say_end(Path(control))


def account(query: StreamingQuery) -> Account | None:
    """The account of rows of a running query after its last batch; None before the first.

    Of a query that a DataFrame of this API is written by, with one columnar join.
    """
    for progress in reversed(query.recentProgress):
        for name, found in progress.observedMetrics.items():
            if name.startswith(OBSERVED) and found["stats"]:
                stats = observed_stats(found["stats"])
                names = tuple(stats[0]["tops"])
                made = of_join((names[0], names[1]), stats, 0)
                made.rows_out = made.matches + made.unmatched
                return made
    return None


def _rows(
    pipeline: Pipeline, frames: Mapping[str, DataFrame], control: str | Path | None, groups: int
) -> DataFrame:
    check_pipeline(pipeline)
    for join in joins_of(pipeline.root):
        if join.late.action is LateAction.SIDE_OUTPUT:
            raise PlanError(
                "MS-PLAN-LATE-SINK",
                "a DataFrame has no second output for late rows.",
                fix="Take 'late.policy' out, or run the query with `millstream run`.",
                place=join.place,
            )
    if control is not None:
        Path(control).mkdir(parents=True, exist_ok=True)
    spark = next(iter(frames.values())).sparkSession
    query = compile_pipeline(
        spark,
        pipeline,
        frames,
        engine=choose_engine(pipeline)[0],
        groups=groups,
        control=None if control is None else str(control),
    )
    return query.rows


def _as_stream(given: DataFrame | Stream) -> DataFrame | Stream:
    if isinstance(given, Stream):
        return given
    for field in given.schema:
        delay = (field.metadata or {}).get(_WATERMARK)
        if delay is not None:
            return Stream(given, field.name, int(delay) * 1000)
    return given


def _must_have(frame: DataFrame, column: str) -> None:
    if column not in frame.columns:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"the stream has no column {column!r}.",
            fix=f"It has {', '.join(frame.columns)}.",
        )


def _pairs(on: str | Sequence[str] | Mapping[str, str]) -> list[tuple[str, str]]:
    if isinstance(on, str):
        return [(on, on)]
    pairs = list(on.items()) if isinstance(on, Mapping) else [(name, name) for name in on]
    if not pairs:
        raise PlanError(
            "MS-PLAN-NO-KEY", "a join needs a key.", fix="Give the key's columns as `on`."
        )
    return pairs


def _join_type(how: str) -> JoinType:
    name = how.lower().removeprefix("left_").removesuffix("outer").rstrip("_")
    try:
        return JoinType(name)
    except ValueError:
        raise PlanError(
            "MS-PLAN-JOIN-TYPE",
            f"{how!r} is no type of join.",
            fix=f"Use one of {', '.join(JoinType)}.",
        ) from None


def _engine(name: str) -> Engine:
    try:
        return Engine(name)
    except ValueError:
        raise PlanError(
            "MS-PLAN-ENGINE", f"{name!r} is no engine.", fix=f"Use one of {', '.join(Engine)}."
        ) from None


def _outputs(
    join: IntervalJoin, pairs: Sequence[tuple[str, str]], suffix: str
) -> tuple[Output, ...]:
    """Own columns, then the other's: a shared key once, a clashing name with the suffix."""
    same = [mine for mine, theirs in pairs if mine == theirs]
    outputs = []
    for name in join.left.used:
        merged = name in same and join.how.keeps_right
        text = f"coalesce(left.`{name}`, right.`{name}`)" if merged else f"left.`{name}`"
        outputs.append(Output(text, name))
    if join.how.left_only:
        return tuple(outputs)
    taken = {output.name for output in outputs}
    for name in join.right.used:
        if name not in same:
            shown = name + suffix if name in taken else name
            outputs.append(Output(f"right.`{name}`", shown))
            taken.add(shown)
    return tuple(outputs)
