"""Joins of a stream with another stream or with a table."""

from __future__ import annotations

from typing import Self

from pyspark.sql import DataFrame

from millstream.api.join_sql import LEFT, RIGHT, On, join_text, join_type
from millstream.api.sql_clauses import (
    Late,
    interval,
    operator_properties,
    side_outputs_of,
    window_clause,
    with_clause,
)
from millstream.api.stream_base import StreamBase
from millstream.api.tables import Table, table_node
from millstream.api.tables import table as table_of
from millstream.api.values import Duration, emit_of, span_of, span_text
from millstream.errors import PlanError
from millstream.plan.resolve.names import quote
from millstream.temporal import Bounds, StateLimit, Window


class JoinMethods(StreamBase):
    """The joins of a `Stream`.

    In the result come the columns of this stream, then those of the other side. A key column with
    one name on both sides appears once. Another name of the right side that is taken gets the
    suffix.
    """

    __slots__ = ()

    def interval_join(
        self,
        other: Self | DataFrame,
        *,
        on: On,
        lower: Duration,
        upper: Duration,
        how: str = "inner",
        suffix: str = "_right",
        late: Late = None,
        limit: StateLimit | None = None,
    ) -> Self:
        """Joins rows with equal keys whose event times are near each other.

        Args:
            other: The right stream: a `Stream`, or a DataFrame with `withWatermark`.
            on: A column of both streams, several, or a mapping from own columns to the other's.
            lower: The right time is at least the left time plus this; may be negative.
            upper: The right time is at most the left time plus this; may be negative.
            how: "inner", "left", "right", "full", "semi" or "anti".
            suffix: Appended to a column of the right stream whose name is taken.
            late: What happens to late rows: `drop()`, `reassign(…)` or `side_output(…)`.
            limit: Limits of the operator's state.

        Returns:
            The joined stream.

        Example:
            >>> shipped = orders.interval_join(
            ...     shipments, on="order_id", lower="0s", upper="24h", how="left"
            ... )
            >>> shipped.columns[4:]
            ['event_time', 'carrier', 'event_time_right']
            >>> shipped.operators
            ['left join of orders and shipments']
        """
        right = self._other(other)
        bounds = Bounds(span_of(lower, signed=True), span_of(upper, signed=True))
        if bounds.empty:
            raise PlanError(
                "MS-PLAN-EMPTY-BOUND",
                f"the bound {bounds} is empty: its lower end is above its upper end.",
                fix="Swap lower and upper.",
            )
        mine = f"`left`.{quote(self._require_time('the left stream'))}"
        theirs = f"`right`.{quote(right._require_time('the right stream'))}"
        between = " AND ".join(
            f"{mine} {'-' if span < 0 else '+'} {interval(abs(span))}"
            for span in (bounds.lower, bounds.upper)
        )
        tail = f" AND {theirs} BETWEEN {between}"
        tail += with_clause(operator_properties(late=late, limit=limit))
        return self._joined(right, on, how, suffix, tail, late)

    def window_join(
        self,
        other: Self | DataFrame,
        window: Window,
        *,
        on: On,
        how: str = "inner",
        emit: str = "changes",
        lateness: Duration = "0s",
        suffix: str = "_right",
        late: Late = None,
        limit: StateLimit | None = None,
    ) -> Self:
        """Joins rows with equal keys in the same window.

        Args:
            other: The right stream: a `Stream`, or a DataFrame with `withWatermark`.
            window: `tumbling(…)`, `sliding(…)` or, to join sessions that overlap, `session(…)`.
            on: A column of both streams, several, or a mapping from own columns to the other's.
            how: "inner", "left", "right", "full", "semi" or "anti".
            emit: "changes" emits a pair when both rows are there, "final" when the window closes.
            lateness: How long a window accepts rows after the watermark has passed its end.
            suffix: Appended to a column of the right stream whose name is taken.
            late: What happens to rows of closed windows: `drop()` or `side_output(…)`.
            limit: Limits of the operator's state.

        Returns:
            The joined stream.

        Example:
            >>> hourly = orders.window_join(shipments, ms.tumbling("1 hour"), on="order_id")
            >>> hourly.time
            '_window_time'
        """
        properties = operator_properties(late=late, limit=limit, lateness=lateness)
        tail = f" {window_clause(window)} EMIT {emit_of(emit).upper()}{with_clause(properties)}"
        return self._joined(self._other(other), on, how, suffix, tail, late)

    def cross_join(
        self,
        other: Self | DataFrame,
        window: Window,
        *,
        emit: str = "changes",
        lateness: Duration = "0s",
        suffix: str = "_right",
        late: Late = None,
        limit: StateLimit | None = None,
    ) -> Self:
        """Joins every row with every row of the other stream in the same window.

        All rows of a window are in one key group, so one task joins them: keep windows short, or
        filter both streams before.

        Args:
            other: The right stream: a `Stream`, or a DataFrame with `withWatermark`.
            window: `tumbling(…)` or `sliding(…)`.
            emit: "changes" emits a pair when both rows are there, "final" when the window closes.
            lateness: How long a window accepts rows after the watermark has passed its end.
            suffix: Appended to a column of the right stream whose name is taken.
            late: What happens to rows of closed windows: `drop()` or `side_output(…)`.
            limit: Limits of the operator's state.

        Returns:
            The joined stream.

        Example:
            >>> orders.cross_join(shipments, ms.tumbling("1 minute")).operators
            ['cross join of orders and shipments']
        """
        properties = operator_properties(late=late, limit=limit, lateness=lateness)
        tail = f" {window_clause(window)} EMIT {emit_of(emit).upper()}{with_clause(properties)}"
        return self._joined(self._other(other), None, "inner", suffix, tail, late)

    def temporal_join(
        self,
        versions: Self | DataFrame,
        *,
        on: On,
        how: str = "inner",
        direction: str = "backward",
        tolerance: Duration | None = None,
        suffix: str = "_right",
        late: Late = None,
        limit: StateLimit | None = None,
    ) -> Self:
        """Joins each row with the version of its key valid at the row's time: an as-of join.

        Args:
            versions: A stream whose rows are valid from their own time until the next of their key.
            on: A column of both streams, several, or a mapping from own columns to the other's.
            how: "inner" or "left".
            direction: "backward" takes the latest version at or before the row, "forward" the
                earliest at or after it, "nearest" the nearer of both.
            tolerance: How far from the row a version may be; required unless backward.
            suffix: Appended to a column of the versions whose name is taken.
            late: What happens to late rows: `drop()`, `reassign(…)` or `side_output(…)`.
            limit: Limits of the operator's state.

        Returns:
            The joined stream.

        Example:
            >>> orders.temporal_join(customers, on="customer_id", how="left").columns[-2:]
            ['segment', 'event_time_right']
        """
        properties = {"temporal.direction": direction}
        if tolerance is not None:
            properties["temporal.tolerance"] = span_text(tolerance)
        properties |= operator_properties(late=late, limit=limit)
        as_of = f"`left`.{quote(self._require_time('the left stream'))}"
        right = f"`right` FOR SYSTEM_TIME AS OF {as_of} AS `right`"
        tail = with_clause(properties)
        return self._joined(self._other(versions), on, how, suffix, tail, late, right)

    def join(
        self,
        other: Self | DataFrame,
        *,
        on: On,
        ttl: Duration | None,
        how: str = "inner",
        suffix: str = "_right",
        late: Late = None,
        limit: StateLimit | None = None,
    ) -> Self:
        """Joins rows with equal keys at any distance in time.

        An unmatched row of an outer join is emitted at once and retracted when a match arrives: the
        result is a changelog, with its kind of change in the column `_OP` of `to_df`.

        Args:
            other: The right stream: a `Stream`, or a DataFrame with `withWatermark`.
            on: A column of both streams, several, or a mapping from own columns to the other's.
            ttl: How long a row stays in state, by the watermark; None: forever.
            how: "inner", "left", "right", "full", "semi" or "anti".
            suffix: Appended to a column of the right stream whose name is taken.
            late: What happens to late rows: `drop()` or `side_output(…)`.
            limit: Limits of the operator's state.

        Returns:
            The joined stream.

        Example:
            >>> orders.join(shipments, on="order_id", ttl="7 days", how="left").operators
            ['left regular join of orders and shipments']
        """
        properties = operator_properties(ttl=ttl, late=late, limit=limit)
        tail = f" EMIT CHANGES{with_clause(properties)}"
        return self._joined(self._other(other), on, how, suffix, tail, late)

    def lookup_join(
        self,
        table: Table | DataFrame,
        *,
        on: On,
        how: str = "inner",
        suffix: str = "_right",
    ) -> Self:
        """Joins each row with the rows of a table that have its key, when the row is processed.

        Args:
            table: A static DataFrame, or what `table` or `database` returns.
            on: A column of both sides, several, or a mapping from own columns to the table's.
            how: "inner", "left", "semi" or "anti".
            suffix: Appended to a column of the table whose name is taken.

        Returns:
            The joined stream.

        Example:
            >>> orders.lookup_join(countries, on={"country": "code"}, how="semi").columns
            ['order_id', 'customer_id', 'country', 'amount', 'event_time']
        """
        found = table_of(table) if isinstance(table, DataFrame) else table
        if not isinstance(found, Table):
            raise PlanError(
                "MS-PLAN-TABLE",
                f"{type(found).__name__} is not a table.",
                fix="Use a static DataFrame, ms.table(df) or ms.database(…).",
            )
        columns = (self.columns, [each.name for each in table_node(found, RIGHT).columns])
        text = join_text((quote(LEFT), quote(RIGHT)), columns, on, join_type(how), suffix)
        return self._derive(text, {LEFT: self}, {RIGHT: found})

    def _joined(
        self,
        right: Self,
        on: On | None,
        how: str,
        suffix: str,
        tail: str,
        late: Late,
        relation: str = quote(RIGHT),
    ) -> Self:
        columns = (self.columns, right.columns)
        text = join_text((quote(LEFT), relation), columns, on, join_type(how), suffix, tail)
        return self._derive(text, {LEFT: self, RIGHT: right}, None, side_outputs_of(late))
