"""Chooses the engine that runs a pipeline, and gives the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.errors import Place, PlanError
from millstream.plan.expressions.shapes import struct_fields
from millstream.plan.expressions.spark_sql import quote
from millstream.plan.facts.key_types import reject_key_types, reject_table_key_types
from millstream.plan.kinds import kind_of, single_input_kind_of
from millstream.plan.nodes import (
    Call,
    Engine,
    Join,
    Operator,
    Pipeline,
    Select,
    SingleInput,
    Source,
    UnionAll,
    UnsupportedPart,
)
from millstream.plan.nodes.traversal import nodes_of, operators_of, sources_of, table_joins_of


def choose_engine(pipeline: Pipeline) -> tuple[Engine, str]:
    """Returns the engine that runs a pipeline, and the reason."""
    operators = operators_of(pipeline.root)
    reject_table_key_types(table_joins_of(pipeline.root))
    requested = pipeline.engine
    if not operators:
        reason = "the query is stateless, so Spark runs it directly"
        return (Engine.NATIVE if requested is Engine.AUTO else requested), reason
    no_columnar = _columnar_limitation(operators)
    no_native = _native_limitation(operators, sources_of(pipeline.root))
    no_native = no_native or _native_pipeline_limitation(pipeline)
    if requested is not Engine.NATIVE:
        reject_struct_comparison(operators, native=not no_native)
    if requested is Engine.COLUMNAR and no_columnar:
        raise _engine_error(operators, "columnar", no_columnar)
    if requested is Engine.NATIVE and no_native:
        raise _engine_error(operators, "native", no_native)
    if requested is Engine.COLUMNAR or (not no_columnar and requested is Engine.AUTO):
        reject_key_types(operators)
    if requested is not Engine.AUTO:
        return requested, "set by the property 'engine'"
    if not no_columnar:
        return Engine.COLUMNAR, _columnar_reason(operators)
    if no_native:
        if part := _unsupported_part(operators):
            raise PlanError(
                "MS-PLAN-PREDICATE",
                f"{no_columnar}. The native engine cannot run the query either: {no_native}.",
                fix="Compute each side's part of it in a CREATE STREAM, or write it with "
                "comparisons, + - * / %, CASE, LIKE, IN, IS NULL and casts to integers or DOUBLE.",
                place=part.place or _place(operators),
            )
        raise PlanError(
            "MS-PLAN-ENGINE",
            f"no engine can run {_query_phrase(operators)}. Columnar engine: {no_columnar}. "
            f"Native engine: {no_native}.",
            fix="Remove one of the two features.",
            place=_place(operators),
        )
    return Engine.NATIVE, no_columnar


def _columnar_reason(operators: tuple[Operator, ...]) -> str:
    if all(isinstance(operator, Join) for operator in operators):
        return "joins whole key groups with columnar state"
    return "processes whole key groups with columnar state"


def _columnar_limitation(operators: tuple[Operator, ...]) -> str:
    reasons = (kind_of(operator).columnar_limitation(operator) for operator in operators)
    return next(filter(None, reasons), "")


def _native_limitation(operators: tuple[Operator, ...], sources: tuple[Source, ...]) -> str:
    """Returns why Spark's own operators cannot run the query; empty if they can."""
    if len(operators) > 1:
        return "there are several stateful operators, and Spark's do not pass on their watermarks"
    (operator,) = operators
    if _has_computed_time(operator, sources):
        return "Spark's watermark is on a column of the source, and the event time is computed"
    return kind_of(operator).native_limitation(operator) or _native_source_limitation(sources)


def _native_pipeline_limitation(pipeline: Pipeline) -> str:
    """Returns why Spark's own operators cannot run other parts of the query; empty if they can."""
    if any(isinstance(each, UnionAll) for each in nodes_of(pipeline.root)):
        return "Spark's watermark waits for every branch of a UNION ALL to have rows"
    if table_joins_of(pipeline.root):
        return "Spark's operators do not pass on the rejected rows of a table join"
    if pipeline.errors.diverts:
        return (
            "Spark's operators do not pass on rows for which an expression fails "
            "('on.error' = 'dead_letter')"
        )
    return ""


def _has_computed_time(operator: Operator, sources: tuple[Source, ...]) -> bool:
    """Returns whether a watermark is on a column that the plan computes."""
    own = any(
        isinstance(node, Select) and node.watermark is not None for node in nodes_of(operator)
    )
    return own or any(
        source.time is not None and source.time not in {each.name for each in source.columns}
        for source in sources
    )


def _native_source_limitation(sources: tuple[Source, ...]) -> str:
    if any(source.retracts for source in sources):
        return "Spark's operators do not subtract the old values of a changelog"
    if any(source.idle is not None for source in sources):
        return "Spark's watermark waits for an idle source; it has no 'idle.timeout'"
    if any(source.watermark and source.watermark.every > 1 for source in sources):
        return "Spark's watermark advances with every row; it has no 'watermark.every'"
    if any(source.max_ahead for source in sources):
        return "Spark cannot reject rows by 'watermark.max_ahead'"
    return ""


def _unsupported_part(operators: tuple[Operator, ...]) -> UnsupportedPart | None:
    """Returns the part of a predicate that the columnar engine cannot evaluate."""
    parts = (
        kind_of(operator).unsupported_part(operator)
        for operator in operators
        if kind_of(operator).columnar_limitation(operator)
    )
    return next(filter(None, parts), None)


def _query_phrase(operators: tuple[Operator, ...]) -> str:
    only_join = len(operators) == 1 and isinstance(operators[0], Join)
    return "this join" if only_join else "this query"


def _place(operators: tuple[Operator, ...]) -> Place | None:
    return next((operator.place for operator in operators if operator.place), None)


def _engine_error(operators: tuple[Operator, ...], engine: str, reason: str) -> PlanError:
    other = "native" if engine == "columnar" else "columnar"
    return PlanError(
        "MS-PLAN-ENGINE",
        f"the {engine} engine cannot run {_query_phrase(operators)}: {reason}.",
        fix=f"Remove 'engine', or set it to '{other}'.",
        place=_place(operators),
    )


def reject_struct_comparison(operators: Iterable[Operator], *, native: bool) -> None:
    """Rejects max_by and min_by over a STRUCT that the call creates.

    `native`: Spark's own operators could run the query.
    """
    for operator in operators:
        if isinstance(operator, Join):
            continue
        for call in single_input_kind_of(operator).calls(operator):
            fields = None if call.by is None else struct_fields(call.by)
            if fields is not None:
                raise _struct_error(call, fields, operator, native)


def _struct_error(call: Call, fields: list[str], operator: SingleInput, native: bool) -> PlanError:
    ways = ["Order by one number computed from its fields"]
    if partition := single_input_kind_of(operator).as_partition(operator):
        down = " DESC" if call.function == "max_by" else ""
        order = ", ".join(f"{_without_alias(field, operator)}{down}" for field in fields) or "…"
        over = f"PARTITION BY {', '.join(partition)} ORDER BY {order}"
        ways.append(f"take the first row by each of them with ROW_NUMBER() OVER ({over}) = 1")
    if native:
        ways.append("set 'engine' = 'native'")
    return PlanError(
        "MS-PLAN-KEY-TYPE",
        f"{call.function} orders by a STRUCT, which the columnar engine does not compare.",
        fix=f"{', or '.join(ways)}.",
        place=operator.place,
    )


def _without_alias(field: str, operator: SingleInput) -> str:
    """Returns a field as the user would write it over a stream without an alias."""
    return re.sub(rf"(?<![\w`.]){re.escape(quote(operator.input.alias))}\.", "", field)
