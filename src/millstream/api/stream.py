"""Streams with an event time.

orders = ms.stream(orders_df, time="event_time", delay="5 seconds")
shipments = ms.stream(shipments_df, time="event_time", delay="5 seconds")
shipped = orders.interval_join(shipments, on="order_id", lower="0s", upper="24h")
hourly = shipped.window(ms.tumbling("1 hour")).aggregate(by="carrier", total="sum(amount)")
hourly.write("out", checkpoint="checkpoint", once=True).wait()
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, Literal, overload

from pyspark.sql import DataFrame

from millstream.api.display import Text
from millstream.api.frames import (
    KEY_GROUPS,
    Outputs,
    compiled,
    pipeline_of,
    reject_late_output,
)
from millstream.api.joins import JoinMethods
from millstream.api.operators import OperatorMethods
from millstream.api.queries import Sink, StreamRun, start_run
from millstream.api.sources import SourceFrame, source_frame
from millstream.api.values import Duration
from millstream.errors import PlanError
from millstream.plan.build.union_branches import branch_pipelines
from millstream.plan.explain.render import explain, explain_json
from millstream.plan.nodes import Job


class Stream(JoinMethods, OperatorMethods):
    """A stream of rows with an event time: a source, or the result of joins and operators.

    Methods return new streams. However many are chained, the result is one plan and one Spark
    query, the same as that of the SQL. Nothing runs before `write`, or before the DataFrame of
    `to_df` is written.

    Example:
        >>> shipped = orders.interval_join(shipments, on="order_id", lower="0s", upper="24h")
        >>> shipped.window(ms.tumbling("1 hour")).aggregate(by="carrier", total="sum(amount)")
        Stream[carrier: string, _window_start: timestamp, _window_end: timestamp, total: double]
          event time: _window_time, watermark delay 1d 5s
          sources: orders, shipments
          operators: inner join of orders and shipments; aggregate of stream
    """

    __slots__ = ()

    def to_df(
        self,
        *,
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
        engine: str = "auto",
        mode: str | None = None,
    ) -> DataFrame:
        """Returns the stream as a streaming DataFrame, to transform and write with PySpark.

        Args:
            control: A folder in which `end_of_input` can end the input.
            key_groups: How many groups of keys state is divided into; must stay the same for a
                checkpoint.
            engine: "auto", "columnar" or "native".
            mode: How a changelog is written: "retract" or "upsert". Its rows have the kind of
                change in the column `_OP`.

        Returns:
            A streaming DataFrame. For a source, its own DataFrame.

        Example:
            >>> orders.where("amount > 10").to_df().isStreaming
            True
            >>> totals = orders.aggregate(by="country", ttl=None, total="sum(amount)")
            >>> totals.to_df(mode="upsert").columns
            ['country', 'total', '_OP']
        """
        if isinstance(self._root, SourceFrame):
            return self._root.frame
        pipeline = pipeline_of(self._root, self._names, engine=engine, mode=mode)
        reject_late_output(pipeline)
        frames = [
            compiled(each, self._names, control, key_groups).rows
            for each in branch_pipelines(pipeline)
        ]
        return reduce(DataFrame.union, frames)

    def outputs(
        self,
        *,
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
        engine: str = "auto",
        mode: str | None = None,
    ) -> Outputs:
        """Returns the result together with its late rows, to hand each to a function.

        Args:
            control: A folder in which `end_of_input` can end the input.
            key_groups: As in `to_df`.
            engine: As in `to_df`.
            mode: As in `to_df`.

        Returns:
            The outputs; see `Outputs.write`.

        Example:
            >>> late = ms.side_output("too_late")
            >>> once = orders.deduplicate("order_id", within="1 hour", late=late)
            >>> once.outputs().names
            ('too_late',)
        """
        pipeline = pipeline_of(self._root, self._names, engine=engine, mode=mode)
        if len(branch_pipelines(pipeline)) > 1:
            raise PlanError(
                "MS-PLAN-UNION",
                "the result is a UNION ALL, which runs as several queries.",
                fix="Call outputs() of each stream, or write(…) of the union.",
            )
        return Outputs(compiled(pipeline, self._names, control, key_groups), pipeline)

    @overload
    def explain(
        self, *, json: Literal[False] = ..., engine: str = ..., mode: str | None = ...
    ) -> Text: ...
    @overload
    def explain(
        self, *, json: Literal[True], engine: str = ..., mode: str | None = ...
    ) -> dict[str, Any]: ...
    def explain(
        self, *, json: bool = False, engine: str = "auto", mode: str | None = None
    ) -> Text | dict[str, Any]:
        """Returns the plan: engine, state bounds, watermarks, what is late.

        Args:
            json: Whether to return data instead of text.
            engine: As in `to_df`.
            mode: As in `to_df`.

        Returns:
            The plan that `millstream explain` prints for the same SQL.

        Example:
            >>> plan = orders.where("amount > 10").explain()
            >>> print(plan.splitlines()[1].strip())
            └─ Pipeline result
            >>> orders.where("amount > 10").explain(json=True)["pipelines"][0]["name"]
            'result'
        """
        job = Job(branch_pipelines(pipeline_of(self._root, self._names, engine=engine, mode=mode)))
        return explain_json(job) if json else Text(explain(job))

    def write(
        self,
        to: str | Path | Sink,
        *,
        checkpoint: str | Path,
        name: str = "result",
        mode: str | None = None,
        late: Mapping[str, str | Path | Sink] | None = None,
        dead_letters: Mapping[str, str | Path | Sink] | None = None,
        every: Duration | None = None,
        once: bool = False,
        flush: bool = False,
        engine: str = "auto",
        key_groups: int | None = None,
        on_error: str | None = None,
    ) -> StreamRun:
        """Runs the query in the background, as `millstream run` does, with an exactly-once sink.

        Args:
            to: A folder for JSON files, or a sink: `sink("file", path="out", format="parquet")`.
            checkpoint: The folder with the job's progress and state. A run that finds one resumes.
            name: The name of the sink and of the query's folder in the checkpoint.
            mode: How a changelog is written: "retract" or "upsert".
            late: Sinks for late rows, by the name of the side output. Without one, they are written
                to the checkpoint.
            dead_letters: Sinks for rejected rows, by the name of the source. Without one, they are
                written to the checkpoint. The sink under `name` is for all rows for which an
                expression fails.
            every: The time between the starts of micro-batches; by default, the next starts at
                once.
            once: Whether to process the available rows and end.
            flush: Whether to end the input, too: windows close, and unmatched rows are emitted.
                Implies `once`.
            engine: "auto", "columnar" or "native".
            key_groups: How many groups of keys state is divided into; by default one for each
                shuffle partition. A checkpoint keeps its number.
            on_error: What happens to a row for which an expression fails: "fail" stops the query,
                "dead_letter" writes the row to the dead letters. By default the query's own
                'on.error', or "fail".

        Returns:
            The run, to wait for or to stop.

        Example:
            >>> large = orders.where("amount > 10").select("order_id", "amount")
            >>> run = large.write(folder / "out", checkpoint=folder / "checkpoint", once=True)
            >>> run.wait()
            True
            >>> spark.read.json(str(folder / "out")).count()
            1
            >>> run.ledger.balanced
            True
        """
        return start_run(
            self._root,
            self._names,
            to,
            Path(checkpoint),
            name=name,
            mode=mode,
            late=late or {},
            dead_letters=dead_letters or {},
            every=every,
            once=once,
            flush=flush,
            engine=engine,
            key_groups=key_groups,
            on_error=on_error,
        )


def stream(
    frame: DataFrame,
    *,
    time: str | None = None,
    delay: Duration | None = None,
    name: str | None = None,
    missing: str = "error",
    every: int = 1,
    idle: Duration | None = None,
    max_ahead: Duration | None = None,
) -> Stream:
    """Makes a stream of a streaming DataFrame.

    Args:
        frame: A streaming DataFrame. A stream that is used twice in a query is one source.
        time: The column with the event time; by default that of Spark's `withWatermark`.
        delay: How far out of order rows may be: the watermark trails the latest row by this. By
            default that of Spark's `withWatermark`, or nothing.
        name: The name of the source in plans and checkpoints; by default its position in the query:
            stream0, stream1, …
        missing: What happens to a row without a time: "error", "skip" or "wall_clock".
        every: The watermark advances after this many rows.
        idle: A stream that is idle for this time no longer delays others.
        max_ahead: How far a row's time may be ahead of processing time; a row further ahead goes to
            the dead letters of `Stream.write`. `Stream.write` applies one day by default; `to_df`
            and `outputs` have no dead letters and reject a value.

    Returns:
        The stream.

    Example:
        >>> frame = spark.readStream.format("rate").load()
        >>> ms.stream(frame, time="timestamp", delay="5 seconds", name="ticks")
        Stream[timestamp: timestamp, value: bigint]
          event time: timestamp, watermark delay 5s
          sources: ticks
    """
    return Stream(
        source_frame(
            frame,
            time=time,
            delay=delay,
            name=name,
            missing=missing,
            every=every,
            idle=idle,
            max_ahead=max_ahead,
        )
    )
