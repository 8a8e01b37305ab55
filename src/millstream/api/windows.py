"""Streams in windows of event time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from millstream.api.sql_clauses import (
    STREAM,
    Late,
    aggregate_text,
    column_names,
    operator_properties,
    order_terms,
    over_clause,
    side_outputs_of,
    top_n_text,
    window_clause,
    with_clause,
)
from millstream.api.stream_base import StreamBase
from millstream.api.values import Duration, emit_of
from millstream.temporal import StateLimit, Window

AnyStream = TypeVar("AnyStream", bound=StreamBase)


@dataclass(frozen=True, slots=True)
class WindowedStream(Generic[AnyStream]):
    """A stream with assigned windows, returned by `Stream.window`."""

    stream: AnyStream
    over: Window
    lateness: Duration
    late: Late

    def aggregate(
        self,
        *,
        by: str | Sequence[str] = (),
        having: str | None = None,
        emit: str = "final",
        limit: StateLimit | None = None,
        **calls: str,
    ) -> AnyStream:
        """Aggregates the rows of each group and window.

        Args:
            by: The columns to group by.
            having: A predicate over the result.
            emit: "final" emits a result once, when the window closes; "changes" also before, as a
                changelog.
            limit: Limits of the operator's state.
            **calls: Expressions over aggregates, by the name of their column.

        Returns:
            The columns of `by`, `_window_start`, `_window_end`, then one for each of `calls`.

        Example:
            >>> hours = orders.window(ms.tumbling("1 hour"))
            >>> hours.aggregate(by="country", orders="count(*)", having="count(*) > 1").columns
            ['country', '_window_start', '_window_end', 'orders']
        """
        properties = operator_properties(late=self.late, limit=limit, lateness=self.lateness)
        text = aggregate_text(
            f"{STREAM} {window_clause(self.over)}",
            [*column_names(by, "by"), "_window_start", "_window_end"],
            calls,
            having,
            f"EMIT {emit_of(emit).upper()}",
            properties,
        )
        side_outputs = side_outputs_of(self.late)
        return self.stream._derive(text, {STREAM: self.stream}, None, side_outputs)

    def top_n(
        self,
        n: int,
        *,
        order: str | Sequence[str],
        by: str | Sequence[str] = (),
        rank: str | None = None,
        limit: StateLimit | None = None,
    ) -> AnyStream:
        """Keeps the first rows of each group and window; emits them when the window closes.

        Args:
            n: How many rows of each group and window.
            order: The terms of the order: "amount DESC".
            by: The columns to group by.
            rank: The name of a column with the number of the row, from 1; by default there is none.
            limit: Limits of the operator's state.

        Returns:
            The columns of the stream and of its windows, and the rank if it has a name.

        Example:
            >>> hours = orders.window(ms.tumbling("1 hour"))
            >>> hours.top_n(3, by="country", order="amount DESC").columns[-2:]
            ['_window_start', '_window_end']
        """
        names = [*column_names(by, "by"), "_window_start", "_window_end"]
        over = over_clause(names, order_terms(order))
        text = top_n_text(f"{STREAM} {window_clause(self.over)}", n, over, rank)
        properties = operator_properties(late=self.late, limit=limit, lateness=self.lateness)
        side_outputs = side_outputs_of(self.late)
        text += f" EMIT FINAL{with_clause(properties)}"
        return self.stream._derive(text, {STREAM: self.stream}, None, side_outputs)
