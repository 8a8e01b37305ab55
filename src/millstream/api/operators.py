"""Operators over one stream: select, where, windows, aggregates, deduplication, Top-N."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pyspark.sql import DataFrame

from millstream.api.sql_clauses import (
    STREAM,
    Late,
    aggregate_text,
    column_names,
    expression,
    operator_properties,
    order_terms,
    over_clause,
    select_list,
    side_outputs_of,
    top_n_text,
    with_clause,
)
from millstream.api.stream_base import StreamBase
from millstream.api.values import UNSET, Duration, Unset, emit_of, span_of
from millstream.api.windows import WindowedStream
from millstream.errors import Place, PlanError
from millstream.plan.resolve.names import quote
from millstream.sql.statements import WatermarkDef
from millstream.temporal import StateLimit, Window


class OperatorMethods(StreamBase):
    """The operators of a `Stream` over its own rows. Expressions are texts of Spark SQL."""

    __slots__ = ()

    def select(self, *columns: str, **named: str) -> Self:
        """Computes the columns of each row.

        The result has an event time if the column with the event time is among the columns,
        unchanged; it may have another name.

        Args:
            *columns: Names of columns, "*", or expressions such as "amount * 2 AS twice".
            **named: More expressions by the name of their column.

        Returns:
            The stream of these columns.

        Example:
            >>> orders.select("order_id", "event_time", cents="cast(amount * 100 AS bigint)")
            Stream[order_id: string, event_time: timestamp, cents: bigint]
              event time: event_time, watermark delay 5s
              sources: orders
        """
        if not columns and not named:
            raise PlanError("MS-PLAN-EXPRESSION", "select() has no column.", fix="Name some.")
        listed = select_list(columns, named, self.columns)
        return self._derive(f"SELECT {listed} FROM {STREAM}", {STREAM: self})

    def where(self, predicate: str) -> Self:
        """Keeps the rows for which a predicate is true.

        Args:
            predicate: An expression such as "amount > 10 AND country = 'AT'".

        Returns:
            The filtered stream.

        Example:
            >>> orders.where("amount > 10").time
            'event_time'
        """
        text = f"SELECT * FROM {STREAM} WHERE {expression(predicate, 'the predicate')}"
        return self._derive(text, {STREAM: self})

    def union(self, *others: Self | DataFrame) -> Self:
        """Returns the rows of this stream and of others: UNION ALL.

        Columns are matched by position and have the names of this stream. The result has an event
        time if the same column is the event time of every stream; its watermark is the minimum over
        the streams.

        Args:
            *others: Streams with columns of the same types in the same order.

        Returns:
            All rows; duplicates are not removed.

        Example:
            >>> large = orders.where("amount > 100").select("order_id", "event_time")
            >>> free = orders.where("amount = 0").select("order_id", "event_time")
            >>> large.union(free)
            Stream[order_id: string, event_time: timestamp]
              event time: event_time, watermark delay 5s
              sources: orders
        """
        if not others:
            raise PlanError("MS-PLAN-UNION", "union() has no stream.", fix="Name one or more.")
        inputs = {STREAM: self}
        inputs |= {f"{STREAM}{number}": self._other(each) for number, each in enumerate(others, 2)}
        return self._derive(" UNION ALL ".join(f"SELECT * FROM {name}" for name in inputs), inputs)

    def filter(self, predicate: str) -> Self:
        """Keeps the rows for which a predicate is true: another name of `where`.

        Args:
            predicate: An expression such as "amount > 10 AND country = 'AT'".

        Returns:
            The filtered stream.

        Example:
            >>> orders.filter("country IS NOT NULL").columns == orders.columns
            True
        """
        return self.where(predicate)

    def with_watermark(self, column: str, delay: Duration) -> Self:
        """Makes a timestamp that a stateless query computes the event time of the stream.

        Args:
            column: The column with the event time.
            delay: How far rows may be out of order.

        Returns:
            The stream with this event time.

        Example:
            >>> dated = orders.select("country", "date_trunc('DAY', event_time) AS day")
            >>> dated.with_watermark("day", "5 seconds").time
            'day'
        """
        given = WatermarkDef(column, span_of(delay), Place(1, 1))
        return self._derive(f"SELECT * FROM {STREAM}", {STREAM: self}, watermark=given)

    def window(
        self, window: Window, *, lateness: Duration = "0s", late: Late = None
    ) -> WindowedStream[Self]:
        """Puts the rows in windows of event time.

        Args:
            window: `tumbling(…)`, `sliding(…)` or `session(…)`.
            lateness: How long a window accepts rows after its first result. A row that arrives
                meanwhile changes the result, which becomes a changelog.
            late: What happens to rows of closed windows: `drop()`, `reassign(…)` or
                `side_output(…)`.

        Returns:
            The stream in windows; continue with `aggregate` or `top_n`.

        Example:
            >>> hours = orders.window(ms.tumbling("1 hour"), lateness="5 minutes")
            >>> hours.aggregate(by="country", total="sum(amount)").columns
            ['country', '_window_start', '_window_end', 'total']
        """
        return WindowedStream(self, window, lateness, late)

    def aggregate(
        self,
        *,
        by: str | Sequence[str] = (),
        ttl: Duration | None,
        having: str | None = None,
        limit: StateLimit | None = None,
        **calls: str,
    ) -> Self:
        """Aggregates all rows so far; the result is a changelog.

        Args:
            by: The columns to group by.
            ttl: How long a group stays in state after its last row, by the watermark; None:
                forever.
            having: A predicate over the result.
            limit: Limits of the operator's state.
            **calls: Expressions over aggregates, by the name of their column.

        Returns:
            The columns of `by`, then one for each of `calls`.

        Example:
            >>> orders.aggregate(by="country", ttl="30 days", total="sum(amount)").columns
            ['country', 'total']
        """
        properties = operator_properties(ttl=ttl, limit=limit)
        names = column_names(by, "by")
        text = aggregate_text(STREAM, names, calls, having, "EMIT CHANGES", properties)
        return self._derive(text, {STREAM: self})

    def deduplicate(
        self,
        *on: str,
        within: Duration | None,
        late: Late = None,
        limit: StateLimit | None = None,
    ) -> Self:
        """Keeps the first row of each key.

        Args:
            *on: The columns of the key.
            within: How long a key stays in state after its row, by the watermark; None: forever.
            late: What happens to late rows: `drop()`, `reassign(…)` or `side_output(…)`.
            limit: Limits of the operator's state.

        Returns:
            A stream with the same columns.

        Example:
            >>> orders.deduplicate("order_id", within="1 day").columns == orders.columns
            True
        """
        if not on:
            raise PlanError(
                "MS-PLAN-NO-KEY",
                "deduplicate() has no key.",
                fix='Name the key\'s columns: deduplicate("order_id", within="1 day").',
            )
        keys = ", ".join(map(quote, column_names(on, "the key")))
        properties = operator_properties(ttl=within, late=late, limit=limit)
        text = f"SELECT DISTINCT ON ({keys}) * FROM {STREAM}{with_clause(properties)}"
        return self._derive(text, {STREAM: self}, None, side_outputs_of(late))

    def top_n(
        self,
        n: int,
        *,
        order: str | Sequence[str],
        by: str | Sequence[str] = (),
        rank: str | None = None,
        ttl: Duration | Unset | None = UNSET,
        emit: str | None = None,
        late: Late = None,
        limit: StateLimit | None = None,
    ) -> Self:
        """Keeps the first rows of each group in an order.

        If `by` has the end of the rows' window (`_window_end`), rows are emitted once, when the
        window closes. Otherwise the result is a changelog.

        Args:
            n: How many rows of each group.
            order: The terms of the order: "amount DESC".
            by: The columns to group by.
            rank: The name of a column with the number of the row, from 1; by default there is none.
            ttl: How long a group stays in state after its last row, by the watermark; None:
                forever. Left out if the groups are windows.
            emit: "final" or "changes", if it is not what `by` says.
            late: What happens to rows of closed windows: `drop()` or `side_output(…)`.
            limit: Limits of the operator's state.

        Returns:
            A stream with the same columns, and the rank if it has a name.

        Example:
            >>> hours = orders.window(ms.tumbling("1 hour"))
            >>> totals = hours.aggregate(by="country", total="sum(amount)")
            >>> best = totals.top_n(3, by="_window_end", order="total DESC", rank="place")
            >>> best.columns
            ['country', '_window_start', '_window_end', 'total', 'place']
        """
        over = over_clause(by, order_terms(order))
        text = top_n_text(STREAM, n, over, rank)
        properties = operator_properties(ttl=ttl, late=late, limit=limit)
        tail = "" if emit is None else f" EMIT {emit_of(emit).upper()}"
        return self._derive(
            f"{text}{tail}{with_clause(properties)}", {STREAM: self}, None, side_outputs_of(late)
        )

    def over_rows(
        self,
        *,
        preceding: int | None,
        by: str | Sequence[str] = (),
        ttl: Duration | Unset | None = UNSET,
        late: Late = None,
        limit: StateLimit | None = None,
        **calls: str,
    ) -> Self:
        """Adds aggregates over each row and the rows before it, in the order of event time.

        Args:
            preceding: How many rows before each one count, of the same group; None: all.
            by: The columns to group by.
            ttl: How long a group stays in state after its last row, by the watermark; None:
                forever. Required with `by`.
            late: What happens to late rows: `drop()`, `reassign(…)` or `side_output(…)`.
            limit: Limits of the operator's state.
            **calls: Calls of aggregates, by the name of their column: mean="avg(amount)".

        Returns:
            The columns of the stream, then one for each of `calls`.

        Example:
            >>> means = orders.over_rows(preceding=2, by="country", ttl="1 day", mean="avg(amount)")
            >>> means.columns[-1]
            'mean'
        """
        if not calls:
            raise PlanError(
                "MS-PLAN-AGGREGATE",
                "over_rows() has nothing to compute.",
                fix='Give it by name: over_rows(preceding=2, mean="avg(amount)").',
            )
        bound = "UNBOUNDED" if preceding is None else str(int(preceding))
        time = quote(self._require_time("the stream"))
        over = over_clause(by, [time], f" ROWS BETWEEN {bound} PRECEDING AND CURRENT ROW")
        added = [
            f"{expression(text, name)} {over} AS {quote(name)}" for name, text in calls.items()
        ]
        properties = operator_properties(ttl=ttl, late=late, limit=limit)
        text = f"SELECT *, {', '.join(added)} FROM {STREAM}{with_clause(properties)}"
        return self._derive(text, {STREAM: self}, None, side_outputs_of(late))
