"""Aggregates over windows, from Python: the same plan as their SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame

from millstream.api.query import KEY_GROUPS, Outputs, outputs_of, rows_of
from millstream.api.values import emit_of
from millstream.errors import PlanError
from millstream.plan.build import build_query
from millstream.plan.names.names import quote
from millstream.plan.nodes import Aggregate, Pipeline, Source
from millstream.temporal import LateAction, LatePolicy, Window, WindowKind, format_span


@dataclass(frozen=True, slots=True)
class _Windows:
    frame: DataFrame
    sources: Mapping[str, Source]
    relation: str
    over: Window
    lateness: int
    late: LatePolicy

    def _pipeline(
        self,
        by: str | Sequence[str],
        calls: Mapping[str, str],
        having: str | None,
        emit: str,
        mode: str | None,
    ) -> Pipeline:
        properties = {"output.mode": mode} if mode else {}
        if self.lateness:
            properties["window.lateness"] = format_span(self.lateness)
        names = [*listed(by), "_window_start", "_window_end"]
        clause = f"EMIT {emit_of(emit).upper()}"
        relation = f"{self.relation} {window_text(self.over)}"
        text = aggregate_text(relation, names, calls, having, clause, properties)
        return _with_policy(build_query(text, self.sources), self.late)


class Windowed(_Windows):
    """A stream in windows; late rows are dropped or reassigned."""

    __slots__ = ()

    def aggregate(
        self,
        *,
        by: str | Sequence[str] = (),
        having: str | None = None,
        emit: str = "final",
        mode: str | None = None,
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
        **calls: str,
    ) -> DataFrame:
        """A row a group and window: the columns of `by`, `_window_start`, `_window_end`, and one
        for each keyword argument, an expression over aggregates such as "sum(amount)".

        `emit` is "final" (once, when the window closes) or "changes". Where results change, rows
        carry `_OP`, and `mode` is "retract" or "upsert".
        """
        pipeline = self._pipeline(by, calls, having, emit, mode)
        return rows_of(pipeline, {"stream": self.frame}, control, key_groups)


class SplitWindowed(_Windows):
    """A stream in windows, whose late rows are an output of their own."""

    __slots__ = ()

    def aggregate(
        self,
        *,
        by: str | Sequence[str] = (),
        having: str | None = None,
        emit: str = "final",
        mode: str | None = None,
        control: str | Path | None = None,
        key_groups: int = KEY_GROUPS,
        **calls: str,
    ) -> Outputs:
        """As `Windowed.aggregate`, with late rows beside the result."""
        pipeline = self._pipeline(by, calls, having, emit, mode)
        return outputs_of(pipeline, {"stream": self.frame}, control, key_groups)


def _with_policy(pipeline: Pipeline, late: LatePolicy) -> Pipeline:
    below = pipeline.root.input
    assert isinstance(below, Aggregate)
    if late.action is LateAction.SIDE_OUTPUT:
        every = tuple(column.name for column in below.input.node.columns)
        below = replace(below, input=replace(below.input, used=every))
    return replace(pipeline, root=replace(pipeline.root, input=replace(below, late=late)))


def aggregate_text(
    relation: str,
    by: Sequence[str],
    calls: Mapping[str, str],
    having: str | None,
    emit: str,
    properties: Mapping[str, str],
) -> str:
    """The SQL of an aggregate. Columns of `by` are names; calls and `having` are expressions."""
    if not calls:
        raise PlanError(
            "MS-PLAN-AGGREGATE",
            "an aggregate needs something to compute.",
            fix='Give it by name: aggregate(by="customer_id", orders="count(*)").',
        )
    keys = [quote(name) for name in by]
    shown = [*keys, *(f"{text} AS {quote(name)}" for name, text in calls.items())]
    parts = [f"SELECT {', '.join(shown)} FROM {relation}"]
    if keys:
        parts.append(f"GROUP BY {', '.join(keys)}")
    if having:
        parts.append(f"HAVING {having}")
    return " ".join((*parts, emit)) + with_text(properties)


def with_text(properties: Mapping[str, str]) -> str:
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    return f" WITH ({listed})" if listed else ""


def window_text(window: Window) -> str:
    def interval(span: int) -> str:
        return f"INTERVAL '{span}' MICROSECONDS"

    offset = f", OFFSET {interval(window.offset)}" if window.offset else ""
    match window.kind:
        case WindowKind.TUMBLING:
            return f"WINDOW TUMBLING({interval(window.size)}{offset})"
        case WindowKind.SLIDING:
            sizes = f"SIZE {interval(window.size)}, SLIDE {interval(window.slide)}"
            return f"WINDOW SLIDING({sizes}{offset})"
        case WindowKind.SESSION:
            return f"WINDOW SESSION(GAP {interval(window.size)})"
        case _:
            raise ValueError(f"{window} cannot be asked for")


def listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
