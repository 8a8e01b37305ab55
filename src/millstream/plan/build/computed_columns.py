"""Builds the computed columns of CREATE SOURCE, and the watermark of CREATE STREAM.

Both are a SELECT over the source or the stream: its event time is a column that the query computes,
and packets carry the progress of that column.
"""

from __future__ import annotations

from dataclasses import replace

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, column, template
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.plan.expressions.shapes import source_sql
from millstream.plan.expressions.sql_types import Family, SqlType
from millstream.plan.nodes import Node, Output, Select, Source
from millstream.plan.nodes.traversal import upstream_of
from millstream.plan.reject import not_supported
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation, Scope
from millstream.plan.resolve.system_columns import with_system_columns
from millstream.sql.statements import ComputedColumn, CreateSource, WatermarkDef
from millstream.suggestions import nearest, same
from millstream.temporal import MissingTime, Watermark


def with_computed_columns(source: Source, statement: CreateSource) -> Source | Select:
    """Returns the stream of a source: with its computed columns, if it has any."""
    if not statement.computed:
        return source
    outputs = [Output(column(source.name, c.name, c.type), c.name) for c in source.columns]
    for item in statement.computed:
        expression = _read(item, source)
        if source.time is not None and same(item.name, source.time):
            expression = _event_time(expression, source, item)
        outputs.append(Output(expression, item.name))
    reads = {each.name for output in outputs for each in output.expression.columns}
    return Select(
        with_system_columns(source, reads),
        tuple(outputs),
        alias=source.name,
        time=source.time,
        place=statement.place,
        is_source=True,
    )


def _read(item: ComputedColumn, source: Source) -> Expression:
    relation = Relation(source.name, source.name, source, item.place)
    expressions = ExpressionReader(Scope((relation,), item.text))
    expressions.check(item.tree)
    found = expressions.read(item.tree)
    if found is None:
        raise not_supported("this expression", item.place)
    part = next(nondeterministic_parts(found.tree), None)
    if part is not None:
        raise PlanError(
            "MS-PLAN-NONDETERMINISTIC",
            f"{source_sql(part, found)} can have another value when a micro-batch is retried, so "
            f"{item.name} cannot be computed from it.",
            fix="Use declared columns and deterministic functions, or select it in a query.",
            place=item.place,
        )
    return found


def _event_time(expression: Expression, source: Source, item: ComputedColumn) -> Expression:
    """Returns an expression as an event time."""
    kind = expression.known_type
    if kind is None or kind.family is not Family.TIMESTAMP:
        shown = "has a type that is not known" if kind is None else f"is {kind.text}"
        raise PlanError(
            "MS-PLAN-TIME-TYPE",
            f"{item.name}, the event time of {source.name}, {shown}.",
            fix=f"Write {item.name} AS CAST(… AS TIMESTAMP), or timestamp_millis(…) for "
            "milliseconds.",
            place=item.place,
        )
    if source.missing_time is MissingTime.WALL_CLOCK:
        return template("coalesce({}, current_timestamp())", expression, kind="TIMESTAMP")
    return expression if expression.type else replace(expression, type="TIMESTAMP")


def with_watermark(stream: Select, name: str, given: WatermarkDef) -> Select:
    """Returns a stream with a watermark of its own."""
    found = next((each for each in stream.columns if same(each.name, given.column)), None)
    if found is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"the watermark uses {given.column}, which is not a column of {name}.",
            fix=nearest(given.column, [each.name for each in stream.columns]),
            place=given.place,
        )
    _reject_state(stream, name, given.place)
    kind = _type_of(stream, found.name)
    if kind is None or kind.family is not Family.TIMESTAMP:
        shown = "a type that is not known" if kind is None else f"the type {kind.text}"
        raise PlanError(
            "MS-PLAN-TIME-TYPE",
            f"the watermark column {found.name} has {shown}, not TIMESTAMP.",
            fix=f"Select CAST(… AS TIMESTAMP) AS {found.name}.",
            place=given.place,
        )
    return replace(stream, time=found.name, watermark=Watermark(found.name, given.delay))


def _type_of(stream: Node, name: str) -> SqlType | None:
    """Returns the type of a column of a stateless stream, through queries that only select it."""
    node = stream
    while isinstance(node, Select):
        expression = next(each.expression for each in node.outputs if each.name == name)
        if expression.known_type is not None or expression.column is None:
            return expression.known_type
        node, name = node.input, expression.column.name
    return None


def _reject_state(stream: Select, name: str, place: Place) -> None:
    if not isinstance(upstream_of(stream), Source):
        raise PlanError(
            "MS-PLAN-WATERMARK",
            f"{name} reads the results of a join or another operator with state, whose event time "
            "and watermark follow from its inputs.",
            fix="Remove the watermark, or declare it on a stream below the operator.",
            place=place,
        )
